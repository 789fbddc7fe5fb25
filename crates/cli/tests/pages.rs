//! Pages that commands write about what they did: whole, by themselves, and readable where they are read.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use millstream_onnx::{Attributes, ModelBuilder, Weight};
use millstream_test_support::not_tested;
use support::{Workplace, bytes, small_model, text};

const BROWSERS: [&str; 5] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
/// A browser that hangs is not waited for.
const LIMIT: Duration = Duration::from_secs(60);
const VIM3: [&str; 4] = ["--board", "khadas-vim3", "--cost", "khadas-vim3"];

/// What somebody may call an operator.
const NAME: &str = "<script>alert(\"x\")</script>&<b>";

/// A network of branches whose operators have such names.
fn named_model(workplace: &Workplace) {
    let mut builder = ModelBuilder::new("named");
    let image = builder.input("image", [1, 8, 16, 16]);
    let elements = (0..8 * 8 * 9).map(|index| (index % 17) as f32 / 17.0 - 0.5).collect();
    let filter = builder.weight("filter", &Weight::from_f32([8, 8, 3, 3], elements));
    for (branch, made) in ["one", "two"].iter().enumerate() {
        let attributes = Attributes::new().ints("pads", &[1; 4]);
        builder.named_node(&format!("{NAME}{branch}"), "Conv", &[&image, &filter], &[made], attributes);
    }
    builder.named_node(NAME, "Add", &["one", "two"], &["sum"], Attributes::new());
    builder.output("sum");
    workplace.write("named.onnx", bytes(&builder.build().unwrap()));
}

/// A page needs nothing from elsewhere, runs nothing, and is whole.
fn check(page: &str) {
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"), "{page}");
    for wrong in ["<script", "<link", "<img", "@import", "url(", "src=", "NaN", "inf ms"] {
        assert!(!page.contains(wrong), "{wrong} in {page}");
    }
    let addresses = page.matches("://").count();
    assert_eq!(addresses, page.matches("xmlns=\"http://www.w3.org/2000/svg\"").count(), "{page}");
    for needed in ["width=device-width", "prefers-color-scheme: dark", "<svg class=\"network\""] {
        assert!(page.contains(needed), "{needed} is missing in {page}");
    }
}

#[test]
fn a_plan_is_told_on_a_page_whatever_operators_are_called() {
    let workplace = Workplace::new();
    named_model(&workplace);
    let plain = ["schedule", "--model", "named.onnx", "--html", "page.html"];
    let shown = workplace.succeed(&[&plain[..], &VIM3].concat());
    let page = text(&workplace.path("page.html"));
    check(&page);
    assert!(page.contains("&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&amp;&lt;b&gt;"), "{page}");
    for part in ["What was decided, and why", "The front", "Frames on their processors", "<svg class=\"gantt\""] {
        assert!(page.contains(part), "{part} is missing in {page}");
    }
    // The numbers are those that are printed.
    let rate = shown.split("Predicted:  ").nth(1).unwrap().split(' ').next().unwrap();
    assert!(page.contains(&format!("<dd>{rate}</dd>")), "{rate}: {page}");
    looks_right(&workplace);
}

#[test]
fn several_networks_have_a_chapter_each() {
    let workplace = Workplace::new();
    small_model(&workplace);
    named_model(&workplace);
    let both = ["schedule", "--model", "named.onnx", "--model", "small.onnx", "--html", "page.html"];
    workplace.succeed(&[&both[..], &VIM3].concat());
    let page = text(&workplace.path("page.html"));
    check(&page);
    assert_eq!(page.matches("<h2").count(), 3, "together, and each: {page}");
    assert_eq!(page.matches("<svg class=\"network\"").count(), 2);
    let all = ["schedule", "--model", "small.onnx", "--algorithm", "all", "--html", "page.html"];
    workplace.succeed(&[&all[..], &VIM3].concat());
    let page = text(&workplace.path("page.html"));
    check(&page);
    assert!(page.contains("Published algorithms"), "{page}");
}

#[test]
fn what_can_not_be_written_loses_nothing_that_is_printed() {
    let workplace = Workplace::new();
    small_model(&workplace);
    let schedule = |page: &'static str| [&["schedule", "--model", "small.onnx", "--html", page][..], &VIM3].concat();
    // Known before any work.
    let message = workplace.fail(&schedule("gone/page.html"));
    assert!(message.contains("cannot write gone/page.html"), "{message}");
    let message = workplace.fail(&schedule("small.onnx"));
    assert!(message.contains("--html small.onnx is the file that --model names"), "{message}");
    assert_eq!(workplace.files(), ["small.onnx"]);
    // Known only at the end.
    let output = workplace.command(&schedule("/dev/full")).assert().failure();
    let (shown, told) = (&output.get_output().stdout, String::from_utf8_lossy(&output.get_output().stderr));
    assert!(told.contains("cannot write /dev/full"), "{told}");
    assert!(String::from_utf8_lossy(shown).contains("Bound:"), "{told}");
    assert_eq!(workplace.files(), ["schedule.json", "small.onnx"]);
}

#[test]
fn runs_are_told_on_a_page_that_browsers_show() {
    let workplace = Workplace::new();
    named_model(&workplace);
    workplace.succeed(&["profile", "--no-sweep", "--model", "named.onnx", "--budget", "200ms"]);
    workplace.succeed(&["schedule", "--model", "named.onnx", "--profile", "profile.json"]);
    let traced = ["--trace", "trace.json", "--html", "page.html", "--operators", "--deadline", "10s"];
    let shown = workplace.succeed(&[&["run", "--frames", "40"], &traced[..]].concat());
    assert!(shown.lines().all(|line| line.chars().count() <= 80 || line.contains("script")), "{shown}");
    let page = text(&workplace.path("page.html"));
    check(&page);
    for part in [
        "What was disturbed",
        "Times of the frames",
        "p99",
        "Energy",
        "Operators",
        "0 of 40 frames missed",
        "Far above it: deadline",
    ] {
        assert!(page.contains(part), "{part} is missing in {page}");
    }

    looks_right(&workplace);
}

#[test]
fn several_networks_that_run_or_are_compared_have_a_chapter_each() {
    let workplace = Workplace::new();
    small_model(&workplace);
    named_model(&workplace);
    let both = ["--model", "named.onnx", "--model", "small.onnx"];
    workplace.succeed(&[&["profile", "--no-sweep", "--budget", "200ms"], &both[..]].concat());
    workplace.succeed(&[&["schedule", "--profile", "profile.json"], &both[..]].concat());
    workplace.succeed(&["run", "--frames", "20", "--html", "page.html"]);
    let page = text(&workplace.path("page.html"));
    check(&page);
    assert_eq!(page.matches("<svg class=\"network\"").count(), 2, "{page}");
    assert!(page.contains("small") && page.contains("named"), "{page}");
    looks_right(&workplace);

    let quick = ["compare", "--rounds", "1", "--turn", "200ms", "--budget", "100ms", "--html", "page.html"];
    workplace.succeed(&[&quick, &both[..]].concat());
    let page = text(&workplace.path("page.html"));
    check(&page);
    assert_eq!(page.matches("Time of a frame</").count(), 2, "{page}");
    looks_right(&workplace);
}

#[test]
fn comparisons_are_told_on_a_page_that_browsers_show() {
    let workplace = Workplace::new();
    named_model(&workplace);
    let quick = ["--rounds", "1", "--budget", "100ms", "--html", "page.html"];
    workplace.succeed(&[&["compare", "--model", "named.onnx"], &quick[..]].concat());
    let page = text(&workplace.path("page.html"));
    check(&page);
    for part in ["Frames per second", "ONNX Runtime, all cores", "millstream for throughput", "Conditions"] {
        assert!(page.contains(part), "{part} is missing in {page}");
    }
    looks_right(&workplace);
}

/// The page in a browser, where there is one: within windows of phones and wide ones, light and dark, and not empty.
fn looks_right(workplace: &Workplace) {
    let Some(browser) = browser() else { return };
    for width in [380, 800, 1400] {
        assert_eq!(overflow(&browser, workplace, width), 0, "nothing is wider than a window of {width}");
    }
    for scheme in ["0", "1"] {
        let picture = screenshot(&browser, workplace, scheme);
        let corner = picture.get_pixel(1, 1).0;
        let (is_dark, darkness) = (scheme == "0", corner[..3].iter().map(|value| u32::from(*value)).sum::<u32>());
        assert_eq!(is_dark, darkness < 200, "{corner:?}");
        let written = picture.pixels().filter(|pixel| pixel.0 != corner).count();
        let part = written as f64 / (picture.width() * picture.height()) as f64;
        assert!((0.02..0.9).contains(&part), "{part} of the picture is not empty");
    }
}

/// A browser that takes pictures; says where there is none.
fn browser() -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let programs = || std::env::split_paths(&folders).flat_map(|folder| BROWSERS.map(|name| folder.join(name)));
    let browser = programs().find(|program| program.is_file());
    if browser.is_none() {
        not_tested("BROWSER", format!("there is none of {BROWSERS:?} to look at pages with"));
    }
    browser
}

/// How many pixels of the page are beyond a window's width, as a script says that is added to a copy of it.
fn overflow(browser: &Path, workplace: &Workplace, width: u32) -> i64 {
    // Windows of browsers have a least width; frames in them do not.
    let page = text(&workplace.path("page.html")).replace('&', "&amp;").replace('"', "&quot;");
    let script = "onload = () => { const own = document.querySelector('iframe').contentDocument.documentElement; \
                  document.title = 'beyond:' + (own.scrollWidth - own.clientWidth) + ';'; }";
    let frame =
        format!("<iframe style='width:{width}px;height:900px' srcdoc=\"{page}\"></iframe><script>{script}</script>");
    workplace.write("framed.html", frame);
    let window = format!("--window-size={},1000", width + 100);
    let page = run(browser, workplace, &[&window, "--dump-dom", "framed.html"]);
    let number = page.split("beyond:").nth(1).and_then(|rest| rest.split(';').next()).map(str::to_owned);
    number.unwrap_or_else(|| panic!("the script did not run: {page}")).parse().unwrap()
}

fn screenshot(browser: &Path, workplace: &Workplace, scheme: &str) -> image::RgbaImage {
    let scheme = format!("--blink-settings=preferredColorScheme={scheme}");
    run(browser, workplace, &[&scheme, "--screenshot=page.png", "--window-size=800,2000", "page.html"]);
    image::open(workplace.path("page.png")).unwrap().to_rgba8()
}

fn run(browser: &Path, workplace: &Workplace, arguments: &[&str]) -> String {
    let always = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--user-data-dir=browser"];
    let mut child = Command::new(browser)
        .args(always)
        .args(arguments)
        .current_dir(workplace.path(""))
        .stdin(Stdio::null())
        .stdout(Stdio::from(std::fs::File::create(workplace.path("dom")).unwrap()))
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begin = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begin.elapsed() > LIMIT {
            child.kill().unwrap();
            panic!("the browser did not end: {arguments:?}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    text(&workplace.path("dom"))
}
