//! What files may call things that people are shown.

/// Why a text is no name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{met:?} has control characters, which a terminal would obey, expected a name without line breaks, \
     tabs and escapes"
)]
pub struct NameError {
    /// The text, its first characters if it is long; shown with what is wrong in it escaped.
    pub met: String,
}

/// Refuses names that a terminal would obey instead of showing them: whoever sends a file does not get to drive
/// the terminal of its reader.
///
/// # Errors
///
/// If a character of `name` is a control character.
pub fn check_name(name: &str) -> Result<(), NameError> {
    if !name.chars().any(char::is_control) {
        return Ok(());
    }
    let met = name.chars().take(MET_MAX).collect();
    Err(NameError { met })
}

/// Characters of what was met that a message shows.
const MET_MAX: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_no_name() {
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
    fn a_long_name_is_cut_in_its_fault() {
        let fault = check_name(&"\u{1b}".repeat(1 << 20)).unwrap_err();
        assert_eq!(fault.met.len(), MET_MAX);
    }
}
