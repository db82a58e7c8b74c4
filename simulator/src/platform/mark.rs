//! The byte order mark that some editors write before a text.

use std::borrow::Cow;

/// The text with blanks in place of a byte order mark.
pub(super) fn without_mark(text: &str) -> Cow<'_, str> {
    text.strip_prefix(MARK).map_or(Cow::Borrowed(text), |rest| {
        Cow::Owned([" ".repeat(MARK.len_utf8()).as_str(), rest].concat())
    })
}

/// The byte order mark.
pub(super) const MARK: char = '\u{feff}';
