//! `migbsp cert init`.

use std::path::PathBuf;

use clap::Args;
use protocol::identity::files::write_authority;
use protocol::identity::{Authority, Name};

use crate::cert::authority::{fault, option};
use crate::cert::folder::{folder, make};
use crate::cert::validity;
use crate::failure::CommandFailure;
use crate::output::print;
use analysis::certificates::date;
use experiments::Failure;

/// Arguments of `cert init`.
#[derive(Debug, Args)]
pub(crate) struct InitArguments {
    /// Name of the cluster: lower-case letters, digits, hyphens and dots
    #[arg(long, value_name = "NAME")]
    cluster: Name,
    /// Folder of the authority [default: ~/.config/migbsp]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// For how many days it may issue
    #[arg(long, value_name = "N", default_value_t = 365, value_parser = validity::days())]
    days: u32,
}

pub(super) fn execute(arguments: &InitArguments, program: &str) -> Result<(), CommandFailure> {
    let folder = folder(arguments.dir.as_deref())?;
    let validity = validity::of_authority(arguments.days)?;
    let authority =
        Authority::generate(arguments.cluster.clone(), validity).map_err(Failure::chain)?;
    make(&folder)?;
    write_authority(&folder, &authority).map_err(fault)?;
    let text = format!(
        "The authority of {}, until {}:\n\n  {}  its certificate; every other brings it along\n  \
         {}  its key, which can admit any peer: keep it secret\n\n\
         Next, for each host:\n  {program} cert issue --role node --name NAME{}\n",
        authority.cluster(),
        date(validity.until()),
        folder.join("authority.pem").display(),
        folder.join("authority.key").display(),
        option(arguments.dir.as_deref()),
    );
    print(&text)
}
