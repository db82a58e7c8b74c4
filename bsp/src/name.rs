//! Names in files that are displayed.

/// A name that cannot be displayed safely.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{found:?} has control characters; expected a name without line breaks, tabs and escapes")]
pub struct NameError {
    /// The name, cut if it is long; the message escapes its control characters.
    pub found: String,
}

/// Refuses names with control characters, by which a file could control the terminal of its reader.
///
/// # Errors
///
/// If a character of `name` is a control character.
pub fn check_name(name: &str) -> Result<(), NameError> {
    if !name.chars().any(char::is_control) {
        return Ok(());
    }
    let found = name.chars().take(FOUND_MAX).collect();
    Err(NameError { found })
}

/// Most characters of a name in the message.
const FOUND_MAX: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_control_characters_are_refused() {
        for name in ["", "labtec-1", "two words", "größe", "主机", "a\u{a0}b"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        for name in [
            "\u{1b}[2J",
            "a\nb",
            "a\rb",
            "a\tb",
            "\u{7}",
            "\u{7f}",
            "\u{9b}2J",
            "\0",
        ] {
            let fault = check_name(name).unwrap_err().to_string();
            assert!(!fault.chars().any(char::is_control), "{fault:?}");
        }
    }

    #[test]
    fn long_names_are_cut_in_the_error() {
        let fault = check_name(&"\u{1b}".repeat(1 << 20)).unwrap_err();
        assert_eq!(fault.found.len(), FOUND_MAX);
    }
}
