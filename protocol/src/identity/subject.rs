use std::fmt;
use std::str::FromStr;

use crate::identity::{Name, NameError};

/// What the holder of a certificate may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Stands for hosts and the processes on them.
    Node,
    /// A node that also manages a Set: gives orders to other nodes.
    SetManager,
    /// Submits runs and follows them; speaks for no agent.
    Client,
}

/// Whom a certificate is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject {
    /// The cluster it belongs to.
    pub cluster: Name,
    /// What it may do.
    pub role: Role,
    /// What it is called in its cluster.
    pub name: Name,
}

/// Why a URI names no subject.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubjectError {
    /// Not of the form `migbsp://<cluster>/<role>/<name>`.
    #[error("{met:?}, expected {SCHEME}<cluster>/<role>/<name>")]
    Form {
        /// The URI, its first characters if it is long.
        met: String,
    },
    /// No role.
    #[error("role {met:?}, expected node, set-manager or client")]
    Role {
        /// What stands in its place, its first characters if it is long.
        met: String,
    },
    /// No name.
    #[error(transparent)]
    Name(#[from] NameError),
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Node => "node",
            Self::SetManager => "set-manager",
            Self::Client => "client",
        })
    }
}

impl FromStr for Role {
    type Err = SubjectError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "node" => Ok(Self::Node),
            "set-manager" => Ok(Self::SetManager),
            "client" => Ok(Self::Client),
            _ => Err(SubjectError::Role { met: shown(text) }),
        }
    }
}

/// The URI.
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            cluster,
            role,
            name,
        } = self;
        write!(f, "{SCHEME}{cluster}/{role}/{name}")
    }
}

impl FromStr for Subject {
    type Err = SubjectError;

    fn from_str(uri: &str) -> Result<Self, Self::Err> {
        let form = || SubjectError::Form { met: shown(uri) };
        let mut parts = uri.strip_prefix(SCHEME).ok_or_else(form)?.splitn(3, '/');
        let mut part = || parts.next().ok_or_else(form);
        Ok(Self {
            cluster: part()?.parse()?,
            role: part()?.parse()?,
            name: part()?.parse()?,
        })
    }
}

/// As much of a stranger's text as an error shows.
fn shown(text: &str) -> String {
    text.chars().take(80).collect()
}

pub(super) const SCHEME: &str = "migbsp://";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_read_from_its_uri() {
        for role in [Role::Node, Role::SetManager, Role::Client] {
            let subject = Subject {
                cluster: "lab".parse().unwrap(),
                role,
                name: "node-3".parse().unwrap(),
            };
            assert_eq!(subject.to_string().parse(), Ok(subject));
        }
    }

    #[test]
    fn other_uris_are_refused_in_words() {
        for (uri, expect) in [
            (
                "https://lab/node/n3",
                "\"https://lab/node/n3\", expected migbsp://<cluster>/<role>/<name>",
            ),
            (
                "migbsp://lab/node",
                "\"migbsp://lab/node\", expected migbsp://<cluster>/<role>/<name>",
            ),
            (
                "migbsp://lab/root/n3",
                "role \"root\", expected node, set-manager or client",
            ),
        ] {
            assert_eq!(uri.parse::<Subject>().unwrap_err().to_string(), expect);
        }
        assert!("migbsp://lab/node/n3/x".parse::<Subject>().is_err());
    }
}
