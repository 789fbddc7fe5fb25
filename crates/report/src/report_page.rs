//! The page for browsers that a command writes about what it did.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::drawing::Drawing;
use crate::facts::{Fact, Tone};
use crate::page::{head, table};
use crate::table::Table;

/// What a command did with networks, on a page for browsers that needs nothing else, neither scripts nor a network:
/// readable on a phone, in light and in dark.
#[derive(Debug)]
pub struct ReportPage {
    /// Its title.
    pub title: String,
    /// What stands below the title.
    pub lead: String,
    /// What it is about, one after the other; several have titles.
    pub chapters: Vec<ReportChapter>,
    /// What made it, and when.
    pub footer: String,
}

/// A part of a page that is about one network.
#[derive(Debug)]
pub struct ReportChapter {
    /// Its title.
    pub title: String,
    /// Its sections.
    pub sections: Vec<ReportSection>,
}

/// A part of a chapter.
#[derive(Debug)]
pub struct ReportSection {
    /// Its title.
    pub title: String,
    /// What it has.
    pub parts: Vec<Part>,
}

/// Something on a page.
#[derive(Debug)]
pub enum Part {
    /// A paragraph.
    Text(String),
    /// Numbers that matter most.
    Numbers(Vec<Number>),
    /// What there is to know.
    Facts(Vec<Fact>),
    /// A table.
    Table(Table),
    /// A picture.
    Drawing(Drawing),
}

/// A number that matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Number {
    /// What it is.
    pub label: String,
    /// The number with its unit.
    pub value: String,
    /// What it is beside what was to be expected.
    pub remark: String,
    /// What to think of that.
    pub tone: Tone,
}

impl ReportSection {
    /// A section of these parts.
    pub fn new(title: impl Into<String>, parts: Vec<Part>) -> Self {
        Self { title: title.into(), parts }
    }
}

impl ReportPage {
    /// The page as HTML.
    pub fn to_html(&self) -> String {
        let has_titles = self.chapters.len() > 1;
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                (head(&self.title))
                body {
                    h1 { (self.title) }
                    p { (self.lead) }
                    @if has_titles {
                        nav { ul {
                            @for (index, chapter) in self.chapters.iter().enumerate() {
                                li { a href=(format!("#chapter-{index}")) { (chapter.title) } }
                            }
                        } }
                    }
                    @for (index, chapter) in self.chapters.iter().enumerate() {
                        @if has_titles { h2 id=(format!("chapter-{index}")) { (chapter.title) } }
                        @for section in chapter.sections.iter().filter(|section| !section.parts.is_empty()) {
                            h3 { (section.title) }
                            @for part in &section.parts { (markup(part)) }
                        }
                    }
                    footer { p { (self.footer) } }
                }
            }
        };
        page.into_string()
    }
}

fn markup(part: &Part) -> Markup {
    match part {
        Part::Text(text) => html! { p { (text) } },
        Part::Numbers(numbers) => html! { dl class="tiles" { @for number in numbers { (tile(number)) } } },
        Part::Facts(facts) => html! {
            dl class="facts" { @for fact in facts { dt { (fact.label) } dd class=[class(fact.tone)] { (fact.text) } } }
        },
        Part::Table(shown) => html! { div class="scroll" { (table(shown)) } },
        Part::Drawing(drawing) => figure(drawing),
    }
}

fn class(tone: Tone) -> Option<&'static str> {
    match tone {
        Tone::Plain => None,
        Tone::Good => Some("good"),
        Tone::Warning => Some("warning"),
        Tone::Bad => Some("bad"),
    }
}

fn tile(number: &Number) -> Markup {
    let remark = class(number.tone).map_or("remark".to_owned(), |class| format!("remark {class}"));
    html! { div {
        dt { (number.label) }
        dd { (number.value) }
        @if !number.remark.is_empty() { dd class=(remark) { (number.remark) } }
    } }
}

fn figure(drawing: &Drawing) -> Markup {
    html! {
        figure {
            figcaption { (drawing.caption) }
            @if !drawing.legend.is_empty() {
                ul class="legend" { @for (colour, text) in &drawing.legend { li class=(format!("c{colour}")) { (text) } } }
            }
            // What is in it was escaped when it was drawn.
            div class="scroll" { (PreEscaped(&drawing.svg)) }
        }
    }
}
