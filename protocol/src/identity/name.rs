use std::fmt;
use std::str::FromStr;

/// The name of a cluster, a node or a client.
///
/// Invariant: a DNS name in lower case that is not an IP address: labels of `a-z`, `0-9` and inner `-`, each 1
/// to 63 bytes, joined by dots, 253 bytes at most, and not only digits after the last dot.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

/// Why a text is not a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid name {found:?}: must be lower-case letters, digits and inner hyphens, parts of at most \
     {LABEL_MAX} joined by dots, as in \"node-3\" or \"n3.cluster\""
)]
pub struct NameError {
    /// The text, its first bytes if it is long.
    pub found: String,
}

impl FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let last = text.rsplit('.').next().unwrap_or(text);
        let is_address = last.bytes().all(|byte| byte.is_ascii_digit());
        if text.len() <= NAME_MAX && text.split('.').all(is_label) && !is_address {
            Ok(Self(text.to_owned()))
        } else {
            let found = text.chars().take(LABEL_MAX).collect();
            Err(NameError { found })
        }
    }
}

impl Name {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_label(label: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=LABEL_MAX).contains(&label.len())
        && label.bytes().all(known)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

const NAME_MAX: usize = 253;
const LABEL_MAX: usize = 63;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_dns_names_in_lower_case() {
        for text in ["a", "node-3", "n3.cluster.example", "4u", &"x".repeat(63)] {
            assert_eq!(text.parse::<Name>().unwrap().as_str(), text);
        }
        let long = format!("{}.", "x".repeat(63)).repeat(4) + "x";
        for text in [
            "",
            "Node",
            "n_3",
            "-a",
            "a-",
            "a..b",
            ".a",
            "a.",
            "7",
            "10.0.0.1",
            "a/b",
            "ä",
            &long,
            &"x".repeat(64),
        ] {
            assert!(text.parse::<Name>().is_err(), "{text:?}");
        }
    }
}
