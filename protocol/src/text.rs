//! Texts of other machines, before they are displayed: a peer must not write lines of its own into a log or a table, nor
//! fill a disk.

use std::fmt::{self, Write};

/// Whether `text` can be displayed as it is, in one line: it has no control characters, and none that are invisible or
/// change the direction of writing.
#[must_use]
pub fn is_displayable(text: &str) -> bool {
    !text.chars().any(is_hidden)
}

/// `text` in one line of about `limit` bytes at most. Characters that cannot be displayed are escaped.
#[must_use]
pub fn displayed(text: &str, limit: usize) -> String {
    let kept = &text[..text.floor_char_boundary(limit)];
    let mut shown = String::with_capacity(kept.len());
    for character in kept.chars() {
        match character {
            '\t' => shown.push(' '),
            hidden if is_hidden(hidden) => shown.extend(hidden.escape_unicode()),
            other => shown.push(other),
        }
    }
    if kept.len() < text.len() {
        let more = text.len() - kept.len();
        shown.push_str(&format!("… and {more} more bytes"));
    }
    shown
}

/// The message of a peer: at most `LINES_MAX` lines and about `MESSAGE_MAX` bytes. Lines after the first are indented, so
/// that none is taken for one of this program.
#[must_use]
pub fn message(text: &str) -> String {
    let kept = &text[..text.floor_char_boundary(MESSAGE_MAX)];
    let mut lines = kept.trim_end().split('\n');
    let mut shown = displayed(lines.next().unwrap_or_default(), MESSAGE_MAX);
    for line in lines.by_ref().take(LINES_MAX - 1) {
        let indent = if line.starts_with("  ") { "" } else { "  " };
        shown.push_str(&format!("\n{indent}{}", displayed(line, MESSAGE_MAX)));
    }
    let left = lines.map(|line| line.len() + 1).sum::<usize>() + text.len() - kept.len();
    if 0 < left {
        shown.push_str(&format!("… and {left} more bytes"));
    }
    shown
}

/// The name of a variant: the first word of its `Debug` form, of which no more is written.
pub fn variant(value: &impl fmt::Debug) -> String {
    struct FirstWord(String);

    impl Write for FirstWord {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            let end = text.find(|character: char| !character.is_alphanumeric());
            self.0.push_str(&text[..end.unwrap_or(text.len())]);
            end.map_or(Ok(()), |_| Err(fmt::Error))
        }
    }

    let mut word = FirstWord(String::new());
    // Fails after the first word.
    write!(word, "{value:?}").unwrap_or_default();
    word.0
}

/// Control characters, those that change the direction of writing, and invisible ones.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// Bytes of a message of a peer.
const MESSAGE_MAX: usize = 4096;
/// Lines of a message of a peer: an error, what it is about, and a remedy.
const LINES_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_displayed_is_escaped_and_what_is_long_is_cut() {
        for text in ["", "n1 has failed: größe ≠ 3", "主机"] {
            assert!(is_displayable(text), "{text}");
            assert_eq!(displayed(text, 100), text);
            assert_eq!(message(text), text);
        }
        for hidden in [
            "\n",
            "\u{1b}[2J",
            "\u{202e}",
            "\u{2066}",
            "\u{200b}",
            "\u{85}",
        ] {
            assert!(!is_displayable(hidden), "{hidden:?}");
            let shown = displayed(&format!("a{hidden}b"), 100);
            assert!(
                is_displayable(&shown) && shown.starts_with("a\\u{"),
                "{shown}"
            );
        }
        assert_eq!(
            displayed(&"ä".repeat(50), 9),
            format!("{}… and 92 more bytes", "ä".repeat(4))
        );
    }

    #[test]
    fn lines_of_a_message_are_indented_and_bounded() {
        let honest = "n1: conf.toml:3: unknown key `a`\n  help: did you mean `b`?";
        assert_eq!(message(honest), honest);
        let forged = "it failed\nerror: n2 has lost your data\r\u{202e}";
        assert_eq!(
            message(forged),
            "it failed\n  error: n2 has lost your data\\u{d}\\u{202e}"
        );
        let long = message(&"\n".repeat(1000));
        assert!(long.len() < 100, "{long}");
        let lines = message(&"x\n".repeat(1000));
        assert_eq!(lines.lines().count(), LINES_MAX);
        assert!(lines.ends_with("… and 1968 more bytes"), "{lines}");
        let escapes = message(&"\u{1b}".repeat(8 << 20));
        assert!(escapes.len() < 8 * MESSAGE_MAX, "{}", escapes.len());
    }
}
