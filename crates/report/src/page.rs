//! Pages of many tables, such as what was computed of papers.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::align::Align;
use crate::style::STYLE;
use crate::table::Table;

/// What every page begins with.
pub(crate) fn head(title: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            title { (title) }
            style { (PreEscaped(STYLE)) }
        }
    }
}

/// A page of many tables in chapters, such as what was computed of papers. What a command did with a network is told on
/// a [`ReportPage`](crate::ReportPage).
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    /// Its title.
    pub title: &'a str,
    /// What stands before the first chapter.
    pub introduction: &'a [String],
    /// The chapters.
    pub chapters: &'a [Chapter<'a>],
}

/// One chapter of a [`Page`].
#[derive(Debug, Clone)]
pub struct Chapter<'a> {
    /// Its title.
    pub title: String,
    /// What stands below the title.
    pub summary: String,
    /// Its tables.
    pub articles: Vec<Article<'a>>,
    /// Its drawings, as SVG.
    pub drawings: Vec<&'a str>,
}

/// A table with what to know of it.
#[derive(Debug, Clone)]
pub struct Article<'a> {
    /// Its title.
    pub title: String,
    /// What kind of numbers these are.
    pub kind: String,
    /// The table.
    pub table: &'a Table,
    /// What to know when reading it.
    pub notes: Vec<String>,
    /// What agrees with what, and what does not.
    pub verdict: Option<String>,
    /// Whether anything does not.
    pub has_misses: bool,
}

impl Page<'_> {
    /// The page as HTML.
    pub fn to_html(&self) -> String {
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                (head(self.title))
                body {
                    h1 { (self.title) }
                    @for text in self.introduction { p { (text) } }
                    nav {
                        ul {
                            @for (index, chapter) in self.chapters.iter().enumerate() {
                                li { a href=(format!("#chapter-{index}")) { (chapter.title) } }
                            }
                        }
                    }
                    @for (index, chapter) in self.chapters.iter().enumerate() { (chapter.markup(index)) }
                }
            }
        };
        page.into_string()
    }
}

impl Chapter<'_> {
    fn markup(&self, index: usize) -> Markup {
        html! {
            h2 id=(format!("chapter-{index}")) { (self.title) }
            p { (self.summary) }
            @for article in &self.articles { (article.markup()) }
            // Drawings are made by the plotting library, not by users.
            @for drawing in &self.drawings { figure { (PreEscaped(*drawing)) } }
        }
    }
}

impl Article<'_> {
    fn markup(&self) -> Markup {
        html! {
            h3 { (self.title) }
            p class="kind" { (self.kind) }
            div class="scroll" { (table(self.table)) }
            @for note in &self.notes { p { (note) } }
            @if let Some(verdict) = &self.verdict {
                p class=(if self.has_misses { "misses" } else { "holds" }) { (verdict) }
            }
        }
    }
}

/// Characters of a cell that takes several lines.
const LONG: usize = 48;

pub(crate) fn table(table: &Table) -> Markup {
    let class = |place: usize| match table.columns().get(place) {
        Some((_, Align::Right)) => Some("number"),
        _ => None,
    };
    html! {
        table {
            thead { tr {
                @for (place, (title, _)) in table.columns().iter().enumerate() { th class=[class(place)] { (title) } }
            } }
            tbody {
                @for row in table.rows() {
                    tr {
                        @for (place, cell) in row.iter().enumerate() {
                            @let long = (cell.chars().count() > LONG).then_some("long");
                            td class=[class(place).or(long)] { (cell) }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_and_numbers_are_aligned() {
        let mut cells = Table::new([("what", Align::Left), ("ms", Align::Right)]);
        cells.row(["a < b & c".to_owned(), "1.5".to_owned()]);
        let article = Article {
            title: "<script>".to_owned(),
            kind: "counted".to_owned(),
            table: &cells,
            notes: vec!["a note".to_owned()],
            verdict: Some("1 of 1 agrees".to_owned()),
            has_misses: false,
        };
        let chapter = Chapter {
            title: "First".to_owned(),
            summary: "one table".to_owned(),
            articles: vec![article],
            drawings: vec!["<svg></svg>"],
        };
        let html = Page { title: "All", introduction: &["hello".to_owned()], chapters: &[chapter] }.to_html();
        assert!(html.starts_with("<!DOCTYPE html>") && html.contains("<td>a &lt; b &amp; c</td>"));
        assert!(html.contains(r#"<td class="number">1.5</td>"#) && html.contains("&lt;script&gt;"));
        assert!(html.contains("<figure><svg></svg></figure>") && html.contains(r##"href="#chapter-0""##));
    }
}
