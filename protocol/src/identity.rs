//! Who is who: names and roles, written into certificates by the authority of a cluster.
//!
//! A certificate says its [`Subject`] in two standard places: the URI
//! `migbsp://<cluster>/<role>/<name>` and the DNS name `<name>`, both as subject alternative names.
//! Whoever trusts the authority can read from a peer's certificate what that peer is called and what it
//! may say. Time is an argument everywhere; [`files`] is the only part that touches a disk.

mod authority;
mod certificate;
pub mod files;
mod holder;
mod listed;
mod name;
mod pem;
mod revocations;
mod serial;
mod subject;
mod validity;

pub use authority::{Authority, IssueError};
pub use certificate::{Certificate, CertificateError};
pub use holder::Identity;
pub use listed::{Holder, Listed};
pub use name::{Name, NameError};
pub use pem::{Pem, PemError};
pub use revocations::Revocations;
pub use serial::{Serial, SerialError};
pub use subject::{Role, Subject, SubjectError};
pub use validity::{Validity, ValidityError};

use certificate::authority_of;
use holder::key_belongs;
