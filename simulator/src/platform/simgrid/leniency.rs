//! What SimGrid's scanner reads and XML does not allow.

use std::borrow::Cow;
use std::ops::Range;

/// The text as XML demands it, with all that is left at its place.
///
/// SimGrid takes white space, comments and instructions before the declaration, where XML allows nothing, and two hyphens
/// inside comments. Neither a declaration nor a comment says anything that counts here, so blanks take their places.
pub(super) fn as_xml(text: &str) -> Cow<'_, str> {
    let mut blanked = hyphened_comments(text);
    blanked.extend(late_declaration(text));
    blanked.sort_unstable_by_key(|range| range.start);
    if blanked.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut readable = String::with_capacity(text.len());
    let mut end = 0;
    for range in blanked {
        readable.push_str(&text[end..range.start]);
        let blank = |byte| if byte == b'\n' { '\n' } else { ' ' };
        readable.extend(text[range.clone()].bytes().map(blank));
        end = range.end;
    }
    readable.push_str(&text[end..]);
    Cow::Owned(readable)
}

/// The declaration, if it is not the first thing.
fn late_declaration(text: &str) -> Option<Range<usize>> {
    let start = text.len() - after_comments(text).len();
    let rest = text[start..].strip_prefix("<?xml")?;
    let length = text[start..].find("?>")? + "?>".len();
    (0 < start && rest.starts_with(char::is_whitespace)).then(|| start..start + length)
}

/// What follows white space, comments and instructions other than a declaration.
fn after_comments(text: &str) -> &str {
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let after = if let Some(comment) = rest.strip_prefix(COMMENT) {
            comment.split_once(COMMENT_END)
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

/// The insides of the comments that XML does not allow.
fn hyphened_comments(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find("<!").map(|start| at + start) {
        let rest = &text[start..];
        if rest.starts_with("<![CDATA[") {
            at = rest.find("]]>").map_or(text.len(), |end| start + end);
        } else if rest.starts_with(COMMENT) {
            let inside = start + COMMENT.len();
            let Some(end) = text[inside..].find(COMMENT_END).map(|end| inside + end) else {
                break;
            };
            let comment = &text[inside..end];
            if comment.contains("--") || comment.ends_with('-') {
                found.push(inside..end);
            }
            at = end;
        } else {
            at = start + "<!".len();
        }
    }
    found
}

const COMMENT: &str = "<!--";
const COMMENT_END: &str = "-->";
