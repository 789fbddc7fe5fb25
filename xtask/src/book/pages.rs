//! The pages of the book: which they are, where they are put, and where their links lead.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::command::{Failure, crates};
use crate::folders::root;

use super::links::{self, Change};
use crate::files::{copy, ending, failed, read};

/// The list of pages.
const SUMMARY: &str = "docs/SUMMARY.md";
/// Pages have this where something made by the program belongs, with the name of its file.
const MADE: (&str, &str) = ("<!-- made: ", " -->");
/// A line that begins so is not in the book.
const ONLY_IN_REPOSITORY: &str = "> In the repository, ";

/// Puts all pages, with the pictures that they show, into a folder.
pub(super) fn gather(folder: &Path, made: &Path) -> Result<(), Failure> {
    let pages = listed()?;
    for page in &pages {
        let text = with_made_parts(&read(&root().join(page))?, made)?;
        write(folder, page, &relinked(&text, page, &pages, folder)?)?;
    }
    let summary = read(&root().join(SUMMARY))?;
    write(folder, Path::new(SUMMARY), &relinked(&summary, Path::new(SUMMARY), &pages, folder)?)
}

/// Whether every page of `docs` is in the book, and every link of a page, or of a README, leads to a file of the
/// repository.
pub(super) fn check() -> Result<(), Failure> {
    let pages = listed()?;
    let mut texts: BTreeSet<PathBuf> = pages.clone();
    for path in ending(&root().join("docs"), ".md")? {
        let path = path.strip_prefix(root()).unwrap_or(&path).to_owned();
        if !pages.contains(&path) && path != Path::new(SUMMARY) {
            return Err(Failure(format!("{} is not in {SUMMARY}", path.display())));
        }
        texts.insert(path);
    }
    texts.extend(["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"].map(PathBuf::from));
    texts.extend(crates()?.iter().map(|name| Path::new("crates").join(name).join("README.md")));
    for page in &texts {
        let text = read(&root().join(page))?;
        let mut inside = links::targets(&text).into_iter().filter(|target| !is_elsewhere(target));
        if let Some(lost) = inside.find(|target| !root().join(resolved(page, target).0).exists()) {
            return Err(Failure(format!("{}: the link ({lost}) leads to nothing", page.display())));
        }
    }
    Ok(())
}

/// The pages of the book, as the list names them, by their places in the repository.
fn listed() -> Result<BTreeSet<PathBuf>, Failure> {
    let summary = read(&root().join(SUMMARY))?;
    Ok(links::targets(&summary).into_iter().map(|target| resolved(Path::new(SUMMARY), target).0).collect())
}

/// Pages about what the program itself defines take it in here, and no longer say that they will.
fn with_made_parts(page: &str, made: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    for line in page.lines() {
        match line.strip_prefix(MADE.0).and_then(|rest| rest.strip_suffix(MADE.1)) {
            Some(name) => text += &read(&made.join(name))?,
            None if line.starts_with(ONLY_IN_REPOSITORY) => continue,
            None => text += line,
        }
        text.push('\n');
    }
    Ok(text)
}

/// The page with links as they are in the book: to its pages, to the repository where that has an address, or none.
fn relinked(text: &str, page: &Path, pages: &BTreeSet<PathBuf>, folder: &Path) -> Result<String, Failure> {
    links::change(text, |target| {
        if is_elsewhere(target) {
            return Ok(Change::Keep);
        }
        let (path, anchor) = resolved(page, target);
        let file = root().join(&path);
        if !file.exists() {
            return Err(Failure(format!("{}: the link ({target}) leads to nothing", page.display())));
        }
        let is_picture =
            path.extension().is_some_and(|extension| ["svg", "png"].iter().any(|known| extension == *known));
        if is_picture {
            copy(&file, &folder.join(place(&path)))?;
        }
        if pages.contains(&path) || is_picture {
            return Ok(Change::To(format!("{}{anchor}", between(&place(page), &place(&path)))));
        }
        Ok(address().map_or(Change::Unlink, |address| Change::To(format!("{address}/{}{anchor}", path.display()))))
    })
}

/// Where the repository can be read, if this is said by the environment, as in GitHub's workflows.
fn address() -> Option<String> {
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let (server, repository) = (variable("GITHUB_SERVER_URL")?, variable("GITHUB_REPOSITORY")?);
    Some(format!("{server}/{repository}/blob/{}", variable("GITHUB_SHA")?))
}

/// Whether a link leads out of the repository, or to another place of its own page.
fn is_elsewhere(target: &str) -> bool {
    target.contains("://") || target.starts_with('#') || target.starts_with("mailto:") || is_of_the_host(target)
}

/// What GitHub has beside the files, such as the results of workflows.
fn is_of_the_host(target: &str) -> bool {
    target.starts_with("../../actions/") || target.starts_with("../../security/")
}

/// The file that a link of a page leads to, from the root of the repository, and the place in it.
fn resolved(page: &Path, target: &str) -> (PathBuf, String) {
    let (path, anchor) = target.split_at(target.find('#').unwrap_or(target.len()));
    let mut resolved = page.parent().unwrap_or(page).to_owned();
    for component in Path::new(path).components() {
        match component {
            Component::ParentDir => drop(resolved.pop()),
            Component::Normal(name) => resolved.push(name),
            _ => {}
        }
    }
    (resolved, anchor.to_owned())
}

/// Where a file of the repository is in the book: pages of `docs` at the top, those of a crate in a folder of its name.
fn place(path: &Path) -> PathBuf {
    // What is shown first in a folder of the repository is so in the book.
    if path.ends_with("README.md") {
        return place(&path.with_file_name("index.md"));
    }
    let names: Vec<&str> = path.iter().filter_map(|name| name.to_str()).collect();
    match names.as_slice() {
        ["docs", rest @ ..] => rest.iter().collect(),
        ["crates", name, "docs", rest @ ..] | ["crates", name, rest @ ..] => {
            Path::new(name).join(rest.iter().collect::<PathBuf>())
        }
        _ => Path::new("project").join(path),
    }
}

/// The relative path from one page of the book to another.
fn between(from: &Path, to: &Path) -> String {
    let up = "../".repeat(from.components().count().saturating_sub(1));
    let down: Vec<String> = to.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    up + &down.join("/")
}

fn write(folder: &Path, page: &Path, text: &str) -> Result<(), Failure> {
    let path = folder.join(place(page));
    let parent = path.parent().unwrap_or(folder);
    std::fs::create_dir_all(parent).map_err(|error| failed(parent, &error))?;
    std::fs::write(&path, text).map_err(|error| failed(&path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_followed_from_their_page() {
        let page = Path::new("docs/how-to/add-a-board.md");
        assert_eq!(resolved(page, "../glossary.md#board"), (PathBuf::from("docs/glossary.md"), "#board".to_owned()));
        assert_eq!(resolved(page, "../../README.md").0, Path::new("README.md"));
    }

    #[test]
    fn pages_lead_to_each_other_in_the_book() {
        let [from, to] =
            ["docs/how-to/add-a-board.md", "crates/pipeline/docs/teams.md"].map(|path| place(Path::new(path)));
        assert_eq!(between(&from, &to), "../pipeline/teams.md");
        assert_eq!(
            between(&place(Path::new("docs/README.md")), &place(Path::new("SECURITY.md"))),
            "project/SECURITY.md"
        );
    }
}
