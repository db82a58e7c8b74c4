//! A table of an answer, before it is text or HTML.

use crate::text::Layout;

/// A table of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sheet {
    /// What it shows.
    pub(crate) caption: String,
    /// Names of the columns.
    pub(crate) headers: Vec<&'static str>,
    /// Each with a cell for every column.
    pub(crate) rows: Vec<Vec<String>>,
    /// The columns that a narrow table can do without, by position, in the order in which they are left out.
    pub(crate) dispensable: &'static [usize],
    /// What follows it; may be empty.
    pub(crate) rest: String,
}

impl Sheet {
    /// The table with its caption and what follows it, as text.
    pub(super) fn text(&self, layout: Layout) -> String {
        let rows = self.rows.iter().cloned();
        let table = layout.reduced_table(&self.headers, rows, self.dispensable);
        let rest = if self.rest.is_empty() {
            String::new()
        } else {
            format!("{}\n", self.rest)
        };
        format!("\n{}:\n\n{table}{rest}", self.caption)
    }
}
