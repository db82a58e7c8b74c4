//! Names and roles of the members of a cluster, in certificates that its authority signs.
//!
//! A certificate holds its [`Subject`] in two standard places: the URI
//! `migbsp://<cluster>/<role>/<name>` and the DNS name `<name>`, both as subject alternative names.
//! A member that trusts the authority reads the name and the role of a peer from the peer's certificate. Time is an
//! argument everywhere; only [`files`] accesses a disk.
//!
//! Every cluster has an authority, an X.509 certificate with a key. It issues certificates to nodes, Set Managers and
//! clients. The role is in the certificate, so a node cannot act as a Set Manager. Keys are ECDSA P-256; a key that
//! other users can read is refused. Nodes and clients look at their own files and the list of revocations every 2 s. A list that the authority did not
//! sign has no effect, and neither has one with a lower number than the list in force.

mod authority;
mod certificate;
mod ending;
pub mod files;
mod names;

pub use authority::{Authority, Identity, IssueError, Revocations};
pub use certificate::{Certificate, CertificateError, Holder, ListedCertificate, Pem, PemError};
pub use ending::ending;
pub use names::{
    Name, NameError, Role, Serial, SerialError, Subject, SubjectError, Validity, ValidityError,
    date,
};
