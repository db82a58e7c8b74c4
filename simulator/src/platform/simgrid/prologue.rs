//! What stands before the XML declaration.

use std::borrow::Cow;

/// The text as XML demands it, with all that is left at its place.
///
/// SimGrid takes white space, comments and instructions before the declaration, where XML allows nothing. The
/// declaration says nothing that counts here, so blanks take its place.
pub(super) fn with_late_declaration_blanked(text: &str) -> Cow<'_, str> {
    let start = text.len() - after_comments(text).len();
    let declaration = &text[start..];
    let is_declaration = declaration
        .strip_prefix("<?xml")
        .is_some_and(|rest| rest.starts_with(char::is_whitespace));
    let end = declaration.find("?>").filter(|_| is_declaration);
    match end.map(|end| start + end + "?>".len()) {
        Some(end) if 0 < start => {
            let blanks = text[start..end]
                .bytes()
                .map(|byte| if byte == b'\n' { '\n' } else { ' ' });
            Cow::Owned(
                text[..start]
                    .chars()
                    .chain(blanks)
                    .chain(text[end..].chars())
                    .collect(),
            )
        }
        _ => Cow::Borrowed(text),
    }
}

/// What follows white space, comments and instructions other than a declaration.
fn after_comments(text: &str) -> &str {
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let after = if let Some(comment) = rest.strip_prefix("<!--") {
            comment.split_once("-->")
        } else if rest.starts_with("<?") && !rest.starts_with("<?xml") {
            rest.split_once("?>")
        } else {
            return rest;
        };
        match after {
            Some((_, after)) => rest = after,
            None => return rest,
        }
    }
}
