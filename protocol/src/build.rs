//! The build of a program: its name, its version, and what tells its binary from others.

use std::fmt;

use crate::is_displayable;
use serde::{Deserialize, Serialize};

/// The build of a program. Processes of equal builds execute the same code.
///
/// Invariant: program and version have 1 to [`Build::TEXT_MAX`] bytes and no control characters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(try_from = "ShownBuild", into = "ShownBuild")]
pub struct Build {
    program: String,
    version: String,
    digest: [u8; Self::DIGEST_LEN],
}

/// Why a text is no name of a program, or no version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// It is empty or too long.
    #[error(
        "the {part} of a build has {found} bytes, expected 1 to {}",
        Build::TEXT_MAX
    )]
    Length {
        /// Which text.
        part: &'static str,
        /// Its length.
        found: usize,
    },
    /// It is not UTF-8, or has control characters.
    #[error("the {part} of a build cannot be displayed")]
    Unprintable {
        /// Which text.
        part: &'static str,
    },
}

impl Build {
    /// The greatest number of bytes of the name of a program, and of a version.
    pub const TEXT_MAX: usize = 64;
    /// The number of bytes of a digest.
    pub const DIGEST_LEN: usize = 32;

    /// The build of `program` whose binary differs from those of other builds by `digest`, a SHA-256.
    ///
    /// # Errors
    ///
    /// If `program` or `version` is empty, longer than [`Self::TEXT_MAX`], or has control characters.
    pub fn new(
        program: &str,
        version: &str,
        digest: [u8; Self::DIGEST_LEN],
    ) -> Result<Self, BuildError> {
        for (part, text) in [("program", program), ("version", version)] {
            if !(1..=Self::TEXT_MAX).contains(&text.len()) {
                let found = text.len();
                return Err(BuildError::Length { part, found });
            }
            if !is_displayable(text) {
                return Err(BuildError::Unprintable { part });
            }
        }
        Ok(Self {
            program: program.to_owned(),
            version: version.to_owned(),
            digest,
        })
    }

    /// The name of the program.
    #[must_use]
    pub fn program(&self) -> &str {
        &self.program
    }

    /// Its version.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// What tells its binary from others: a SHA-256.
    #[must_use]
    pub const fn digest(&self) -> &[u8; Self::DIGEST_LEN] {
        &self.digest
    }

    /// The digest as 64 hexadecimal digits.
    #[must_use]
    pub fn sha256(&self) -> String {
        self.digest
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    /// The first 12 of these digits, which messages show.
    #[must_use]
    pub fn short(&self) -> String {
        let mut digits = self.sha256();
        digits.truncate(SHORT_LEN);
        digits
    }
}

impl fmt::Display for Build {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (program, version) = (&self.program, &self.version);
        write!(f, "{program} {version} (build {})", self.short())
    }
}

/// A build as it is written.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename = "Build")]
struct ShownBuild {
    /// Name of the program.
    program: String,
    /// Version of the program.
    version: String,
    /// SHA-256 of the build ID in its binary, or of the whole binary if it has none.
    #[cfg_attr(feature = "schemas", schemars(pattern("^[0-9a-f]{64}$")))]
    sha256: String,
}

impl From<Build> for ShownBuild {
    fn from(build: Build) -> Self {
        Self {
            sha256: build.sha256(),
            program: build.program,
            version: build.version,
        }
    }
}

impl TryFrom<ShownBuild> for Build {
    type Error = String;

    fn try_from(shown: ShownBuild) -> Result<Self, String> {
        let ShownBuild {
            program,
            version,
            sha256,
        } = shown;
        let byte = |index: usize| {
            let digits = sha256.get(2 * index..2 * index + 2)?;
            u8::from_str_radix(digits, 16).ok()
        };
        let digest: Option<Vec<u8>> = (0..Self::DIGEST_LEN).map(byte).collect();
        let digest = digest.filter(|_| sha256.len() == 2 * Self::DIGEST_LEN);
        let digest = digest.and_then(|digest| digest.try_into().ok());
        let digest = digest.ok_or("a digest of another length")?;
        Self::new(&program, &version, digest).map_err(|error| error.to_string())
    }
}

/// Digits of a digest in messages.
const SHORT_LEN: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_is_shown_with_name_version_and_twelve_digits() {
        let mut digest = [0xab; Build::DIGEST_LEN];
        digest[5] = 7;
        let build = Build::new("pagerank", "1.2.3", digest).unwrap();
        assert_eq!(build.to_string(), "pagerank 1.2.3 (build ababababab07)");
        assert_eq!(build.sha256().len(), 64);
        assert_ne!(
            build,
            Build::new("pagerank", "1.2.3", [0xab; Build::DIGEST_LEN]).unwrap()
        );
    }

    #[test]
    fn texts_that_cannot_be_displayed_are_refused() {
        let long = "x".repeat(Build::TEXT_MAX + 1);
        let refused = |program: &str, version: &str| {
            let build = Build::new(program, version, [0; Build::DIGEST_LEN]);
            build.unwrap_err().to_string()
        };
        assert_eq!(
            refused("", "1"),
            "the program of a build has 0 bytes, expected 1 to 64"
        );
        assert_eq!(
            refused("p", &long),
            "the version of a build has 65 bytes, expected 1 to 64"
        );
        assert_eq!(
            refused("p\u{1b}[2J", "1"),
            "the program of a build cannot be displayed"
        );
        assert!(Build::new(&long[1..], &long[1..], [0; Build::DIGEST_LEN]).is_ok());
    }
}
