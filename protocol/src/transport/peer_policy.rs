use std::collections::BTreeSet;

use crate::identity::{Name, Role, Subject};

/// Which members of the cluster may connect to an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerPolicy {
    /// None: the endpoint only opens connections.
    RefuseAll,
    /// All members in one of these roles.
    Roles(BTreeSet<Role>),
    /// The members with these names and roles.
    Listed(BTreeSet<(Name, Role)>),
}

impl PeerPolicy {
    /// Whether `subject` may connect.
    pub(super) fn allows(&self, subject: &Subject) -> bool {
        match self {
            Self::RefuseAll => false,
            Self::Roles(roles) => roles.contains(&subject.role),
            Self::Listed(members) => members.contains(&(subject.name.clone(), subject.role)),
        }
    }

    /// The role in which the member `name` may connect, if one is listed.
    pub(super) fn role_of(&self, name: &Name) -> Option<Role> {
        match self {
            Self::RefuseAll | Self::Roles(_) => None,
            Self::Listed(members) => {
                let mut members = members.iter();
                members
                    .find(|(known, _)| known == name)
                    .map(|(_, role)| *role)
            }
        }
    }

    /// What is allowed, as a part of an error.
    pub(super) fn expected(&self) -> String {
        match self {
            Self::RefuseAll => "no connection".to_owned(),
            Self::Roles(roles) => {
                let names: Vec<_> = roles.iter().map(Role::to_string).collect();
                names.join(" or ")
            }
            Self::Listed(members) => format!("one of the {} listed members", members.len()),
        }
    }
}
