//! `migbsp cert revoke`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::Args;
use protocol::identity::files::{list_certificates, read_newest_revocations, write_revocations};
use protocol::identity::{Authority, Holder, Revocations, Serial};

use crate::cert::authority::{authority, fault};
use crate::cert::folder::folder;
use crate::cert::validity;
use crate::failure::CommandFailure;
use crate::output::print;
use experiments::Failure;

/// Arguments of `cert revoke`.
#[derive(Debug, Args)]
pub(crate) struct RevokeArguments {
    /// Files with the certificates: NAME.pem
    #[arg(value_name = "FILE", required_unless_present = "serials")]
    files: Vec<PathBuf>,
    /// Serial number of a certificate whose file is lost; can be given several times
    #[arg(long = "serial", id = "serials", value_name = "HEX")]
    serials: Vec<Serial>,
    /// Folder of the authority and its list [default: ~/.config/migbsp]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// A certificate to be revoked, and how it is called.
struct Target {
    serial: Serial,
    label: String,
}

pub(super) fn execute(arguments: &RevokeArguments) -> Result<(), CommandFailure> {
    let given = arguments.dir.as_deref();
    let folder = folder(given)?;
    let authority = authority(&folder, given)?;
    let now = SystemTime::now();
    validity::left(&authority, now)?;
    let previous = listed(&authority, &folder)?;
    let before = previous.as_ref().map(Revocations::serials);
    let before = before.cloned().unwrap_or_default();
    let mut targets = Vec::new();
    for file in &arguments.files {
        targets.extend(members(&authority, &folder, file)?);
    }
    targets.extend(arguments.serials.iter().map(|serial| Target {
        serial: serial.clone(),
        label: "certificate".to_owned(),
    }));
    let new: BTreeSet<Serial> = targets.iter().map(|target| target.serial.clone()).collect();
    let revocations = match &previous {
        Some(previous) => authority.revoke_after(previous, &new, now),
        None => authority.revoke(&new, now),
    };
    let revocations = revocations.map_err(Failure::chain)?;
    write_revocations(&folder, &revocations).map_err(fault)?;
    print(&text(
        &authority,
        &folder,
        &targets,
        &before,
        revocations.serials().len(),
    ))
}

/// The list in `folder`, if there is one.
fn listed(authority: &Authority, folder: &Path) -> Result<Option<Revocations>, Failure> {
    let is_signed = |list: &Revocations| authority.has_signed(list);
    let Some(revocations) = read_newest_revocations(folder, is_signed).map_err(fault)? else {
        return Ok(None);
    };
    if !authority.has_signed(&revocations) {
        return Err(Failure::Input(format!(
            "{}: not signed by the authority beside it: put its own list there, or remove this one",
            folder.join(LIST).display()
        )));
    }
    Ok(Some(revocations))
}

/// The certificates in `file` that `authority` issued, which have to be all but its own.
fn members(authority: &Authority, folder: &Path, file: &Path) -> Result<Vec<Target>, Failure> {
    let at = |problem: String| Failure::Input(format!("{}: {problem}", file.display()));
    let mut targets = Vec::new();
    for certificate in list_certificates(file).map_err(fault)? {
        let Holder::Member(subject) = &certificate.holder else {
            continue;
        };
        let (cluster, own) = (&subject.cluster, authority.cluster());
        if cluster != own {
            return Err(at(format!(
                "issued for the cluster `{cluster}`: must be for `{own}`, the cluster of the authority in {}",
                folder.display()
            )));
        }
        if !authority.has_issued(&certificate) {
            return Err(at(format!(
                "issued by another authority of `{cluster}`: must be issued by the one in {}",
                folder.display()
            )));
        }
        targets.push(Target {
            label: format!("{} {}", subject.role, subject.name),
            serial: certificate.serial,
        });
    }
    if targets.is_empty() {
        return Err(at(
            "the certificate of an authority: must be one of a node, a Set Manager or a client"
                .to_owned(),
        ));
    }
    Ok(targets)
}

fn text(
    authority: &Authority,
    folder: &Path,
    targets: &[Target],
    before: &BTreeSet<Serial>,
    count: usize,
) -> String {
    let mut text = format!("Revoked in {}:\n\n", authority.cluster());
    let labels = targets.iter().map(|target| target.label.len());
    let width = labels.max().unwrap_or(0);
    for Target { serial, label } in targets {
        let known = if before.contains(serial) {
            "  (was already)"
        } else {
            ""
        };
        text.push_str(&format!("  {label:width$}  {serial}{known}\n"));
    }
    let list = folder.join(LIST);
    text.push_str(&format!(
        "\n{} now names {count} in all. Copy it beside the certificate of every node and client:\n\
         a node reads it within 2 s and ends connections to them; a client reads it when it starts.\n",
        list.display()
    ));
    text
}

/// Name of the list of revocations.
const LIST: &str = "authority.crl";
