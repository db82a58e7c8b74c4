use std::fmt;
use std::str::FromStr;

use crate::identity::{Name, NameError};

/// The role of a member of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Speaks for hosts and the processes on them.
    Node,
    /// A node that also manages a Set, and sends orders to other nodes.
    SetManager,
    /// Submits jobs and follows them; speaks for no agent.
    Client,
}

/// The member of a cluster that holds a certificate.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject {
    /// Its cluster.
    pub cluster: Name,
    /// Its role.
    pub role: Role,
    /// Its name in the cluster.
    pub name: Name,
}

/// Why a URI is not a subject.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubjectError {
    /// Not of the form `migbsp://<cluster>/<role>/<name>`.
    #[error("{found:?}, expected {SCHEME}<cluster>/<role>/<name>")]
    Form {
        /// The URI, or its first characters if it is long.
        found: String,
    },
    /// Not a role.
    #[error("invalid role {found:?}: must be node, set-manager or client")]
    Role {
        /// The text, or its first characters if it is long.
        found: String,
    },
    /// Not a name.
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
            _ => Err(SubjectError::Role {
                found: shortened(text),
            }),
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
        let form = || SubjectError::Form {
            found: shortened(uri),
        };
        let mut parts = uri.strip_prefix(SCHEME).ok_or_else(form)?.splitn(3, '/');
        let mut part = || parts.next().ok_or_else(form);
        Ok(Self {
            cluster: part()?.parse()?,
            role: part()?.parse()?,
            name: part()?.parse()?,
        })
    }
}

/// The first characters of a text, for an error.
fn shortened(text: &str) -> String {
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
    fn invalid_uris_are_refused_with_a_reason() {
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
                "invalid role \"root\": must be node, set-manager or client",
            ),
        ] {
            assert_eq!(uri.parse::<Subject>().unwrap_err().to_string(), expect);
        }
        assert!("migbsp://lab/node/n3/x".parse::<Subject>().is_err());
    }
}
