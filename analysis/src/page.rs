//! Pages of tables and charts: a title, a paragraph, a table of contents, and sections.

use maud::{DOCTYPE, Markup, PreEscaped, Render, html};

/// The heading of a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading {
    id: String,
    title: String,
}

impl Heading {
    /// The heading `title`, with the anchor `id`.
    pub fn new(id: &str, title: &str) -> Self {
        Self {
            id: id.to_owned(),
            title: title.to_owned(),
        }
    }
}

impl Render for Heading {
    fn render(&self) -> Markup {
        html! { h2 id=(self.id) { (self.title) } }
    }
}

/// A page with a title, a paragraph, a table of contents, and sections.
pub fn page_of(title: &str, preface: &str, contents: &[Heading], sections: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { (title) }
                p { (preface) }
                nav aria-label="Contents" {
                    ul {
                        @for heading in contents {
                            li { a href=(format!("#{}", heading.id)) { (heading.title) } }
                        }
                    }
                }
                (sections)
            }
        }
    };
    page.into_string() + "\n"
}

/// Style of the page.
const STYLE: &str = ":root { color-scheme: light dark; --page: #fff; --ink: #222; --muted: #767676; --line: #e1e1e1; --missed: #fdf3e7; --link: #0550ae; }
@media (prefers-color-scheme: dark) { :root { --page: #0d1117; --ink: #e6edf3; --muted: #919191; --line: #30363d; --missed: #3a2a12; --link: #79c0ff; } }
body { font: 15px/1.5 sans-serif; color: var(--ink); background: var(--page); max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
a { color: var(--link); }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { padding: 0.15rem 0.7rem; border-bottom: 1px solid var(--line); text-align: left; }
th.number, td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
div.scroll { overflow-x: auto; }
tr.flagged { color: var(--muted); }
tr.missed { background: var(--missed); }
figure { margin: 1rem 0; overflow-x: auto; }
";
