//! Certificates and keys, as commands find them.

use std::fs;
use std::path::Path;

use protocol::identity::files::read_identity;
use protocol::identity::{Identity, Name, Role};

use crate::cert;
use crate::failure::Failure;

/// The identity in `folder` (the default one, if none is named) for `role`; that of `name`, if there are several.
///
/// # Errors
///
/// If there is none, or several and no name; or its files are not what they should be.
pub(crate) fn find(
    folder: Option<&Path>,
    name: Option<&Name>,
    role: Role,
) -> Result<Identity, Failure> {
    let folder = cert::folder(folder)?;
    if let Some(name) = name {
        let identity = read_identity(&folder, name).map_err(Failure::input)?;
        let met = identity.certificate().subject.role;
        if met != role {
            let place = folder.display();
            let problem = format!("{name} is a {met}, expected a {role}");
            return Err(Failure::Input(format!("{place}: {problem}")));
        }
        return Ok(identity);
    }
    let place = folder.display();
    let entries = fs::read_dir(&folder).map_err(|error| {
        Failure::Input(format!("{place}: cannot be read: {error}; {}", how(role)))
    })?;
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let path = entry.path();
        let is_key = path.extension().is_some_and(|ending| ending == "key");
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        let Some(name) = stem
            .filter(|_| is_key)
            .and_then(|stem| stem.parse::<Name>().ok())
        else {
            continue;
        };
        // What cannot be read, or is an authority's, is somebody else's.
        let identity = read_identity(&folder, &name).ok();
        found.extend(identity.filter(|identity| identity.certificate().subject.role == role));
    }
    match found.len() {
        0 => Err(Failure::Input(format!(
            "{place}: no certificate of a {role}; {}",
            how(role)
        ))),
        1 => Ok(found.remove(0)),
        _ => {
            let mut names: Vec<String> = found
                .iter()
                .map(|identity| identity.certificate().subject.name.to_string())
                .collect();
            names.sort();
            let names = names.join(", ");
            Err(Failure::Usage(format!(
                "{place}: several certificates of a {role}; say which of {names}"
            )))
        }
    }
}

fn how(role: Role) -> String {
    format!("`migbsp cert issue --role {role} --name NAME` makes one")
}
