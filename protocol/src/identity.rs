//! Names and roles of the members of a cluster, in certificates that its authority signs.
//!
//! A certificate holds its [`Subject`] in two standard places: the URI
//! `migbsp://<cluster>/<role>/<name>` and the DNS name `<name>`, both as subject alternative names.
//! A member that trusts the authority reads the name and the role of a peer from the peer's certificate. Time is an
//! argument everywhere; only [`files`] accesses a disk.

mod authority;
mod certificate;
pub mod files;
mod listed_certificate;
mod name;
mod own_identity;
mod pem;
mod revocations;
mod serial;
mod subject;
mod validity;

pub use authority::{Authority, IssueError};
pub use certificate::{Certificate, CertificateError};
pub use listed_certificate::{Holder, ListedCertificate};
pub use name::{Name, NameError};
pub use own_identity::Identity;
pub use pem::{Pem, PemError};
pub use revocations::Revocations;
pub use serial::{Serial, SerialError};
pub use subject::{Role, Subject, SubjectError};
pub use validity::{Validity, ValidityError};
