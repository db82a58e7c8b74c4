//! The table `pattern` as it is written in a configuration.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::misplaced_key::MisplacedKey;
use crate::synthetic::pattern::Pattern;

/// Reads the table.
///
/// # Errors
///
/// Those of the format, and the first key that does not belong to the kind.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Pattern, D::Error> {
    let written = WrittenPattern::deserialize(deserializer)?;
    written.check_keys().map_err(D::Error::custom)?;
    Ok(written.pattern())
}

/// Writes the table, without gaps.
///
/// # Errors
///
/// Those of the format.
pub(super) fn serialize<S: Serializer>(
    pattern: &Pattern,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    WrittenPattern::from(pattern.clone()).serialize(serializer)
}

/// The table as it is written: flat, and with gaps.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct WrittenPattern {
    kind: PatternKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<Vec<u32>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    torus: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arity: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    links: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum PatternKind {
    #[default]
    Shifts,
    Grid,
    Groups,
    Tree,
    Random,
}

impl PatternKind {
    const fn name(self) -> &'static str {
        match self {
            Self::Shifts => "shifts",
            Self::Grid => "grid",
            Self::Groups => "groups",
            Self::Tree => "tree",
            Self::Random => "random",
        }
    }

    const fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Shifts => &[],
            Self::Grid => &["dimensions", "torus"],
            Self::Groups => &["size"],
            Self::Tree => &["arity"],
            Self::Random => &["links", "seed"],
        }
    }
}

impl WrittenPattern {
    /// Nothing, if the kind takes all keys that are written.
    fn check_keys(&self) -> Result<(), MisplacedKey> {
        let written = [
            ("dimensions", self.dimensions.is_some()),
            ("torus", self.torus.is_some()),
            ("size", self.size.is_some()),
            ("arity", self.arity.is_some()),
            ("links", self.links.is_some()),
            ("seed", self.seed.is_some()),
        ];
        MisplacedKey::check(self.kind.name(), self.kind.keys(), &written)
    }

    /// The pattern, with the defaults of its kind.
    fn pattern(self) -> Pattern {
        match self.kind {
            PatternKind::Shifts => Pattern::Shifts,
            PatternKind::Grid => Pattern::Grid {
                dimensions: self.dimensions.unwrap_or_default(),
                torus: self.torus.unwrap_or(false),
            },
            PatternKind::Groups => Pattern::Groups {
                size: self.size.unwrap_or(4),
            },
            PatternKind::Tree => Pattern::Tree {
                arity: self.arity.unwrap_or(2),
            },
            PatternKind::Random => Pattern::Random {
                links: self.links.unwrap_or(2),
                seed: self.seed.unwrap_or(1),
            },
        }
    }
}

impl From<Pattern> for WrittenPattern {
    fn from(pattern: Pattern) -> Self {
        let of = |kind| Self {
            kind,
            ..Self::default()
        };
        match pattern {
            Pattern::Shifts => of(PatternKind::Shifts),
            Pattern::Grid { dimensions, torus } => Self {
                dimensions: Some(dimensions),
                torus: Some(torus),
                ..of(PatternKind::Grid)
            },
            Pattern::Groups { size } => Self {
                size: Some(size),
                ..of(PatternKind::Groups)
            },
            Pattern::Tree { arity } => Self {
                arity: Some(arity),
                ..of(PatternKind::Tree)
            },
            Pattern::Random { links, seed } => Self {
                links: Some(links),
                seed: Some(seed),
                ..of(PatternKind::Random)
            },
        }
    }
}
