//! `migbsp cert issue`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use protocol::identity::files::write_identity;
use protocol::identity::{Name, Role};

use crate::cert::authority::{authority, fault};
use crate::cert::folder::{folder, make};
use crate::cert::validity;
use crate::failure::CommandFailure;
use crate::output::print;
use analysis::certificates::date;
use experiments::Failure;

/// Arguments of `cert issue`.
#[derive(Debug, Args)]
pub(crate) struct IssueArguments {
    /// Role of the holder
    #[arg(long, value_name = "ROLE", value_parser = role())]
    role: Role,
    /// Name of the holder: lower-case letters, digits, hyphens and dots
    #[arg(long, value_name = "NAME")]
    name: Name,
    /// Folder of the authority [default: ~/.config/migbsp]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Folder for the certificate and the key [default: that of the authority]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// For how many days it is valid [default: 30, or as long as the authority]
    #[arg(long, value_name = "N", value_parser = validity::days())]
    days: Option<u32>,
}

pub(super) fn execute(arguments: &IssueArguments) -> Result<(), CommandFailure> {
    if arguments.name.as_str() == AUTHORITY {
        let problem = "reserved for the files of the authority; choose another name";
        return Err(Failure::Usage(format!("--name {AUTHORITY}: {problem}")).into());
    }
    let given = arguments.dir.as_deref();
    let folder = folder(given)?;
    let authority = authority(&folder, given)?;
    let validity = validity::of_member(&authority, arguments.days)?;
    let identity = authority
        .issue(arguments.role, &arguments.name, validity)
        .map_err(Failure::chain)?;
    let out = arguments.out.as_deref().unwrap_or(&folder);
    make(out)?;
    write_identity(out, &identity).map_err(fault)?;
    let subject = &identity.certificate().subject;
    let file = |ending: &str| out.join(format!("{}.{ending}", subject.name));
    print(&format!(
        "The {} {} of {}, until {}:\n\n  {}  its certificate, and that of the authority\n  \
         {}  its key: for {} alone\n",
        subject.role,
        subject.name,
        subject.cluster,
        date(validity.until()),
        file("pem").display(),
        file("key").display(),
        subject.name,
    ))
}

/// Reads `--role`.
fn role() -> impl TypedValueParser<Value = Role> {
    PossibleValuesParser::new(["node", "set-manager", "client"])
        .try_map(|name| name.parse::<Role>())
}

/// Names of the files of an authority.
const AUTHORITY: &str = "authority";
