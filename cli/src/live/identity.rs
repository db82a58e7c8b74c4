//! Certificates and keys, as commands find them.

use std::ffi::OsStr;
use std::path::Path;

use protocol::identity::files::{list_certificates, read_identity};
use protocol::identity::{Holder, Identity, Name, Role};

use crate::cert;
use experiments::Failure;

/// The identity in `folder` (the default one, if none is named) for `role`; that of `name`, if there are several.
///
/// # Errors
///
/// If there is none, or several and no name; or its files are invalid.
pub(crate) fn find(
    folder: Option<&Path>,
    name: Option<&Name>,
    role: Role,
) -> Result<Identity, Failure> {
    let folder = cert::folder(folder)?;
    if let Some(name) = name {
        let identity = read_identity(&folder, name).map_err(cert::fault)?;
        let met = identity.certificate().subject.role;
        if met != role {
            let place = folder.display();
            let problem = format!("{name} is a {met}, expected a {role}");
            return Err(Failure::Input(format!("{place}: {problem}")));
        }
        return Ok(identity);
    }
    let mut names = names_of(&folder, role)?;
    let place = folder.display();
    match names.len() {
        0 => Err(Failure::Input(format!(
            "{place}: no certificate of a {role}; `{{bin}} cert issue --role {role} --name NAME` makes one"
        ))),
        1 => read_identity(&folder, &names.remove(0)).map_err(cert::fault),
        _ => {
            let names: Vec<&str> = names.iter().map(Name::as_str).collect();
            let names = names.join(", ");
            Err(Failure::Usage(format!(
                "{place}: several certificates of a {role}; say which of {names}"
            )))
        }
    }
}

/// Names in `folder` that have a certificate for `role` in a file of that name.
fn names_of(folder: &Path, role: Role) -> Result<Vec<Name>, Failure> {
    let mut names = Vec::new();
    for file in cert::certificates(folder)? {
        // Other files are ignored.
        let Ok(certificates) = list_certificates(&file) else {
            continue;
        };
        let stem = file.file_stem().and_then(OsStr::to_str);
        if let Some(Holder::Member(subject)) = certificates.first().map(|first| &first.holder)
            && subject.role == role
            && stem == Some(subject.name.as_str())
        {
            names.push(subject.name.clone());
        }
    }
    Ok(names)
}
