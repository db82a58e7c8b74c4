//! `migbsp cert`: the authority of a cluster, and the certificates that it issues and revokes.

mod authority;
mod folder;
mod init;
mod issue;
mod revoke;
mod show;
mod validity;

pub(crate) use authority::fault;
pub(crate) use folder::{certificates, folder};

use clap::{Args, Subcommand};

use crate::cert::init::InitArguments;
use crate::cert::issue::IssueArguments;
use crate::cert::revoke::RevokeArguments;
use crate::cert::show::ShowArguments;
use crate::command::{Command, Context};
use crate::failure::CommandFailure;

/// Arguments of `cert`.
#[derive(Debug, Args)]
struct CertArguments {
    #[command(subcommand)]
    command: CertCommand,
}

/// What `cert` does.
#[derive(Debug, Subcommand)]
enum CertCommand {
    /// Make the authority of a cluster
    #[command(long_about = INIT_ABOUT, after_long_help = INIT_HELP)]
    Init(InitArguments),
    /// Issue a certificate and a key to a node, a Set Manager or a client
    #[command(long_about = ISSUE_ABOUT, after_long_help = ISSUE_HELP)]
    Issue(IssueArguments),
    /// Revoke certificates: their holders are no longer admitted to the cluster
    #[command(long_about = REVOKE_ABOUT, after_long_help = REVOKE_HELP)]
    Revoke(RevokeArguments),
    /// Show certificates and their validity
    #[command(long_about = SHOW_ABOUT, after_long_help = SHOW_HELP)]
    Show(ShowArguments),
}

/// The command `cert`.
pub(crate) fn command() -> Command {
    Command::new(
        "cert",
        "Manage the certificates that authenticate the hosts of a cluster",
        execute,
    )
    .example(
        "cert init --cluster lab",
        "an authority for a cluster: docs/cluster.md",
    )
}

/// Runs the subcommand.
///
/// # Errors
///
/// If a file is missing, invalid or in the way, or the arguments are invalid.
fn execute(arguments: &CertArguments, context: &Context<'_>) -> Result<(), CommandFailure> {
    match &arguments.command {
        CertCommand::Init(arguments) => init::execute(arguments, context.program()),
        CertCommand::Issue(arguments) => issue::execute(arguments),
        CertCommand::Revoke(arguments) => revoke::execute(arguments),
        CertCommand::Show(arguments) => show::execute(arguments, context.registry()),
    }
}

const INIT_ABOUT: &str = "\
Make the authority of a cluster: a certificate, which all members trust, and its key, which \
signs the certificates of all others.

The key can admit any peer to the cluster. It stays on the machine that made it, readable by its owner \
only; hosts get the files of `{bin} cert issue`. `{bin} cert revoke` revokes certificates; \
a new authority, and new certificates, lock out all holders of old ones.";

const INIT_HELP: &str = "\
Files:
  DIR/authority.pem  the certificate
  DIR/authority.key  the key, mode 0600
Neither is ever overwritten. DIR is $XDG_CONFIG_HOME/migbsp by default, else ~/.config/migbsp.

Examples:
  {bin} cert init --cluster lab
  {bin} cert init --cluster lab --dir /media/key/lab --days 1000

Then: {bin} cert issue --help. The whole way to a cluster: docs/cluster.md.";

const ISSUE_ABOUT: &str = "\
Issue a certificate and a key to a node, a Set Manager or a client.

The certificate has the cluster, the role and the name, which peers check: a node cannot act as a Set \
Manager or as another node. The name of a host is that of the hostfile. Run this where the authority is, \
and copy both files to their host.";

const ISSUE_HELP: &str = "\
Roles:
  node         a host with processes on it
  set-manager  a node that also manages a Set: the first host of each Set
  client       submits runs and follows them

Files, in the folder of --out:
  NAME.pem  the certificate, and that of the authority
  NAME.key  the key, mode 0600
Neither is ever overwritten: renew certificates into another folder, or remove the old ones.
By default the folder of --dir, which is $XDG_CONFIG_HOME/migbsp by default, else ~/.config/migbsp.

Examples:
  {bin} cert issue --role set-manager --name node-1
  {bin} cert issue --role node --name node-2 --days 7
  for n in 3 4 5; do {bin} cert issue --role node --name node-$n --out certs; done
  scp certs/node-3.* node-3:.config/migbsp/

The whole way to a cluster: docs/cluster.md.";

const REVOKE_ABOUT: &str = "\
Revoke certificates: their holders are no longer admitted to the cluster.

The authority signs a list of all certificates that it has revoked. Nodes and clients with that list beside \
their own certificate refuse these peers, whichever side connects. Run this where the authority is, and copy \
the list to every node and client. Nodes look at it every 2 s, and end connections to holders of certificates that \
have been added; clients read it when they start.";

const REVOKE_HELP: &str = "\
Files:
  DIR/authority.crl  the list, which is cumulative and does not expire
A certificate of another authority is refused, and nothing is written. For a certificate \
without its file, use its number: `serial` in `{bin} cert show --format json`.

Examples:
  {bin} cert revoke certs/node-3.pem
  {bin} cert revoke --dir /media/key/lab node-3.pem laptop.pem
  {bin} cert revoke --serial 5f0cbe3a9d1f4e6b8a7c2d10e94b3f5a6c7d8e9f
  for n in 1 2 4; do scp ~/.config/migbsp/authority.crl node-$n:.config/migbsp/; done

Exit codes: 0 the list is written; 1 it cannot be; 2 usage; 4 no authority, or a file that is no certificate of it.
What it does to a cluster: docs/cluster.md.";

const SHOW_ABOUT: &str = "\
Say what certificates are about, and how long they are valid.

Keys are not read. Whether a certificate was signed by the authority beside it is found out by peers, when \
it is used; here, equal fingerprints mean equal authorities.";

const SHOW_HELP: &str = "\
Formats:
  table  each certificate once, then the fingerprints
  json   one object, schema migbsp.cert/1: all certificates of each file, its own first
  csv    one row per certificate

Examples:
  {bin} cert show                                    the default folder
  {bin} cert show certs node-1.pem                   a folder and a file
  {bin} cert show --format json | jq '.certificates[] | select(.days_left < 7)'
  openssl x509 -in node-1.pem -noout -text           what another program says

`days` is what is left, rounded down: below zero, a certificate has expired. `revoked` is what the list \
authority.crl in the folder of the file names.";
