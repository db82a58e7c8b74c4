//! `migbsp cert`: the authority of a cluster, and the certificates that it issues and revokes.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use analysis::certificates::Report;
use bsp::units::Seconds;
use clap::builder::{PossibleValuesParser, RangedI64ValueParser, TypedValueParser};
use clap::{Args, Subcommand};
use etcetera::{BaseStrategy, choose_base_strategy};
use experiments::{Failure, Provenance, Registry};
use protocol::identity::files::{
    FileError, list_certificates, read_authority, read_newest_revocations, read_revocations,
    write_authority, write_identity, write_revocations,
};
use protocol::identity::{
    Authority, Certificate, Holder, Identity, Name, Revocations, Role, Serial, Subject, Validity,
    date,
};

use crate::command::{Command, Context};
use crate::failure::CommandFailure;
use crate::live::links::positive_time;
use crate::output::{self, Format, print};

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
        "an authority: docs/guide/cluster.md",
    )
}

/// Runs the subcommand.
///
/// # Errors
///
/// If a file is missing, invalid or in the way, or the arguments are invalid.
fn execute(arguments: &CertArguments, context: &Context<'_>) -> Result<(), CommandFailure> {
    match &arguments.command {
        CertCommand::Init(arguments) => init(arguments, context.program()),
        CertCommand::Issue(arguments) => issue(arguments, context.program()),
        CertCommand::Revoke(arguments) => revoke(arguments, context.program()),
        CertCommand::Show(arguments) => show(arguments, context.registry()),
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

Then: {bin} cert issue --help. The whole way to a cluster: docs/guide/cluster.md.";

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
Neither is ever overwritten: renew certificates into another folder, and copy them over the old ones. Nodes and clients that run
look at their files every 2 s.
By default the folder of --dir, which is $XDG_CONFIG_HOME/migbsp by default, else ~/.config/migbsp.

Examples:
  {bin} cert issue --role set-manager --name node-1
  {bin} cert issue --role node --name node-2 --days 7
  for n in 3 4 5; do {bin} cert issue --role node --name node-$n --out certs; done
  scp certs/node-3.* node-3:.config/migbsp/

The whole way to a cluster: docs/guide/cluster.md.";

const REVOKE_ABOUT: &str = "\
Revoke certificates: their holders are no longer admitted to the cluster.

The authority signs a list of all certificates that it has revoked. Nodes and clients with that list beside \
their own certificate refuse these peers, whichever side connects. Run this where the authority is, and copy \
the list to every node and client. They look at it every 2 s, and end connections to holders of certificates that \
have been added.";

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
What it does to a cluster: docs/guide/cluster.md.";

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
  {bin} cert show --expires-within 7d certs          for a monitor: exit code 3 if one ends by then
  openssl x509 -in node-1.pem -noout -text           what another program says

`days` is what is left, rounded down: below zero, a certificate has expired. `revoked` is what the list \
authority.crl in the folder of the file names.

Exit codes: 0 they are shown; 2 usage; 3 with --expires-within, one has expired or does so within that time, and is not \
revoked; 4 no certificate.";

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
    #[arg(long, value_name = "N", default_value_t = 365, value_parser = days())]
    days: u32,
}

fn init(arguments: &InitArguments, program: &str) -> Result<(), CommandFailure> {
    let folder = folder(arguments.dir.as_deref(), DIR)?;
    let validity = validity_of_authority(arguments.days)?;
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
    #[arg(long, value_name = "N", value_parser = days())]
    days: Option<u32>,
}

fn issue(arguments: &IssueArguments, program: &str) -> Result<(), CommandFailure> {
    if arguments.name.as_str() == AUTHORITY {
        let problem = "reserved for the files of the authority; choose another name";
        return Err(Failure::Usage(format!("--name {AUTHORITY}: {problem}")).into());
    }
    let given = arguments.dir.as_deref();
    let folder = folder(given, DIR)?;
    let authority = authority(&folder, given, program)?;
    let validity = validity_of_member(&authority, arguments.days)?;
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

/// What names the folder of an authority.
const DIR: &str = "name a folder with --dir";
/// Names of the files of an authority.
const AUTHORITY: &str = "authority";

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

fn revoke(arguments: &RevokeArguments, program: &str) -> Result<(), CommandFailure> {
    let given = arguments.dir.as_deref();
    let folder = folder(given, DIR)?;
    let authority = authority(&folder, given, program)?;
    let now = SystemTime::now();
    left(&authority, now)?;
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
         each reads it within 2 s, and ends connections to them.\n",
        list.display()
    ));
    text
}

/// Name of the list of revocations.
const LIST: &str = "authority.crl";

/// Arguments of `cert show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// Files with certificates, or folders: of a folder, all files that end in .pem [default: ~/.config/migbsp]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Format of the list
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// End with exit code 3 if a certificate has expired or does so within this time, such as 7d
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = positive_time)]
    expires_within: Option<Seconds>,
}

fn show(arguments: &ShowArguments, registry: &Registry) -> Result<(), CommandFailure> {
    let default;
    let paths = if arguments.files.is_empty() {
        default = [folder(None, "name a file or a folder")?];
        &default[..]
    } else {
        &arguments.files
    };
    let mut report = Report::new(SystemTime::now());
    for path in paths {
        let is_folder = path.is_dir();
        let mut is_any_shown = false;
        for file in expanded(path)? {
            let certificates = match list_certificates(&file) {
                Ok(certificates) => certificates,
                // A folder may have certificates of other programs.
                Err(error) if is_folder => {
                    tracing::warn!("not shown: {error}");
                    continue;
                }
                Err(error) => return Err(fault(error).into()),
            };
            is_any_shown = true;
            let beside = file.parent().unwrap_or(&file);
            let revocations = read_revocations(beside).map_err(fault)?;
            let revoked = revocations.as_ref().map(Revocations::serials);
            report.add(&file.display().to_string(), &certificates, revoked);
        }
        if is_folder && !is_any_shown {
            return Err(no_certificate(path).into());
        }
    }
    let provenance = || Provenance::of_program(registry);
    output::show(&report, (arguments.format, true), provenance)?;
    let Some(within) = arguments.expires_within else {
        return Ok(());
    };
    let length = Duration::try_from_secs_f64(within.get()).unwrap_or(Duration::MAX);
    match report.ending_within(length) {
        ending if ending.is_empty() => Ok(()),
        ending => Err(Failure::Verification(format!(
            "--expires-within: {}: issue new ones with `{} cert issue`",
            ending.join(", "),
            registry.program()
        ))
        .into()),
    }
}

/// `path`, or the certificates in it if it is a folder, in the order of their names.
fn expanded(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !path.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    certificates(path)
}

fn no_certificate(folder: &Path) -> Failure {
    let place = folder.display();
    Failure::Input(format!(
        "{place}: no certificate; the folder must have files that end in .pem"
    ))
}

/// The authority in `folder`, which is the one that was `given` or the default.
///
/// # Errors
///
/// If there is none, which one command changes, or its files are at fault.
fn authority(folder: &Path, given: Option<&Path>, program: &str) -> Result<Authority, Failure> {
    read_authority(folder).map_err(|error| match &error {
        FileError::Read { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            let option = option(given);
            Failure::Input(format!(
                "{error}; `{program} cert init --cluster NAME{option}` makes an authority"
            ))
        }
        _ => fault(error),
    })
}

/// The option that names `folder`, if it was given; to go on with.
fn option(dir: Option<&Path>) -> String {
    dir.map_or_else(String::new, |folder| format!(" --dir {}", folder.display()))
}

/// Files that are in the way or cannot be written are errors of the run, not of the input.
pub(crate) fn fault(error: FileError) -> Failure {
    match error {
        FileError::Exists { .. } | FileError::Write { .. } => Failure::run(error),
        FileError::Read { .. }
        | FileError::Missing { .. }
        | FileError::TooLong { .. }
        | FileError::Exposed { .. }
        | FileError::Content { .. } => Failure::input(error),
    }
}

/// `given`, else the default: `migbsp` in the user's folder for configuration, which on Unix is
/// `$XDG_CONFIG_HOME` or `~/.config`.
///
/// # Errors
///
/// If none was given and the user has no home: `remedy` says what helps then.
pub(crate) fn folder(given: Option<&Path>, remedy: &str) -> Result<PathBuf, Failure> {
    given.map(Path::to_path_buf).map_or_else(
        || {
            let strategy = choose_base_strategy().map_err(|_| {
                let problem = "this user has no home, and HOME is not set";
                Failure::Usage(format!("{problem}: {remedy}"))
            })?;
            Ok(strategy.config_dir().join("migbsp"))
        },
        Ok,
    )
}

/// Peers accept a certificate only while it is valid.
///
/// # Errors
///
/// If that of `identity` is not valid at `now`.
pub(crate) fn check_validity(
    identity: &Identity,
    now: SystemTime,
    program: &str,
) -> Result<(), Failure> {
    let Certificate {
        subject, validity, ..
    } = identity.certificate();
    if validity.includes(now) {
        return Ok(());
    }
    let Subject { role, name, .. } = subject;
    let folder = identity.folder().map(Path::display);
    let place = folder.map_or_else(String::new, |folder| format!("{folder}: "));
    let clock = format!("the clock of this host says {}", date(now));
    Err(Failure::Input(if now < validity.from() {
        let from = date(validity.from());
        format!(
            "{place}the certificate of {role} {name} is not valid yet: it begins {from}, and {clock}; check the clock \
             (`{program} cert show` lists dates)"
        )
    } else {
        let until = date(validity.until());
        format!(
            "{place}the certificate of {role} {name} has expired: it ended {until}, and {clock}; check the clock, or issue a \
             new one with `{program} cert issue --role {role} --name {name}` (`{program} cert show` lists dates)"
        )
    }))
}

/// The files with certificates in `folder`, those that end in .pem, in the order of their names.
///
/// # Errors
///
/// If the folder cannot be read.
pub(crate) fn certificates(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let unread = |error| Failure::Input(format!("{}: cannot be read: {error}", folder.display()));
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(unread)? {
        let file = entry.map_err(unread)?.path();
        if file.extension().is_some_and(|ending| ending == "pem") {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}

/// Makes `folder` if there is none, for its owner alone: keys will be in it.
///
/// # Errors
///
/// If the operating system refuses.
fn make(folder: &Path) -> Result<(), Failure> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
        .create(folder)
        .map_err(|error| Failure::Run(format!("{}: cannot be made: {error}", folder.display())))
}

/// Reads `--days`.
fn days() -> RangedI64ValueParser<u32> {
    RangedI64ValueParser::new().range(1..=DAYS_MAX)
}

/// Valid for `days` from now on.
///
/// # Errors
///
/// If the clock stands at the end of time.
fn validity_of_authority(days: u32) -> Result<Validity, Failure> {
    Validity::from_now(SystemTime::now(), length(days)).map_err(Failure::run)
}

/// Valid for `days` from now on; by default for [`DAYS`], or as long as `authority`.
///
/// # Errors
///
/// If `authority` ends before.
fn validity_of_member(authority: &Authority, days: Option<u32>) -> Result<Validity, Failure> {
    let (now, limit) = (SystemTime::now(), authority.validity().until());
    let left = left(authority, now)?;
    let asked = length(days.unwrap_or(DAYS));
    let granted = if days.is_none() {
        asked.min(left)
    } else {
        asked
    };
    if left < granted {
        return Err(Failure::Usage(format!(
            "--days {}: the authority of {} ends at {}: ask for less, or make a new authority",
            days.unwrap_or(DAYS),
            authority.cluster(),
            date(limit)
        )));
    }
    Validity::from_now(now, granted).map_err(Failure::run)
}

/// Remaining validity of `authority`.
///
/// # Errors
///
/// If it has ended.
fn left(authority: &Authority, now: SystemTime) -> Result<Duration, Failure> {
    let limit = authority.validity().until();
    let left = limit.duration_since(now).unwrap_or_default();
    if left.is_zero() {
        return Err(Failure::Input(format!(
            "the authority of {} ended at {}: make a new one, and new certificates",
            authority.cluster(),
            date(limit)
        )));
    }
    Ok(left)
}

fn length(days: u32) -> Duration {
    Duration::from_secs(24 * 3600) * days
}

/// Default validity of a certificate, in days.
const DAYS: u32 = 30;

/// A hundred years.
const DAYS_MAX: i64 = 36_500;
