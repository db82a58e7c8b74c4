//! `migbsp report`: what runs look like, as a page of their own or as pictures, from records.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use experiments::{Failure, record};

use crate::command::{Command, Context};
use crate::failure::CommandFailure;
use crate::file::{HTML, SVG, check_output, write};
use crate::output::print;
use analysis::report::{PictureKind, ReportedRun, page, picture, text};

/// Arguments of `report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// Folders of records, as `simulate --out DIR` and `run --out DIR` write to DIR/iii; of DIR itself, iii is taken
    #[arg(value_name = "RUN", required = true)]
    pub(crate) runs: Vec<PathBuf>,
    /// File for the page, FILE.html, or for the picture, FILE.svg
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Picture to draw as SVG in place of the page; of one RUN
    #[arg(long, value_enum, value_name = "PICTURE")]
    pub(crate) svg: Option<PictureArgument>,
    /// Folder of a record of scenario i of the same experiment, to compare with; by default the folder i beside RUN
    #[arg(long, value_name = "DIR")]
    pub(crate) against: Option<PathBuf>,
}

/// A picture of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PictureArgument {
    /// Processes over supersteps, coloured by Set, with the times of supersteps below
    Timeline,
    /// Hosts over supersteps, with the number of their processes
    Hosts,
    /// Times of supersteps, with those of scenario i and the calls
    Supersteps,
    /// What the program noted over supersteps
    Notes,
    /// Where the time of supersteps went
    Breakdown,
    /// Hosts over supersteps: how busy they were, and which had the slowest process
    Load,
    /// Sets, and what moved between them
    Sets,
    /// Supersteps over the time of a job, in all its views
    Views,
}

/// The command `report`.
pub(crate) fn command() -> Command {
    Command::new(
        "report",
        "Draw from records what runs look like, as a page or as pictures",
        execute,
    )
    .long_about(REPORT_ABOUT)
    .after_long_help(REPORT_HELP)
}

/// Writes the page or the picture.
///
/// # Errors
///
/// If a record cannot be read, or is named twice, or the file cannot be written.
fn execute(arguments: &ReportArguments, context: &Context<'_>) -> Result<(), CommandFailure> {
    let registry = context.registry();
    arguments.check_output()?;
    let folders = folders(&arguments.runs)?;
    if let (Some(_), [_, _, ..]) = (arguments.svg, &folders[..]) {
        let several =
            "--svg: a picture shows one run; name one RUN, or leave out --svg for a page about all";
        return Err(Failure::Usage(several.to_owned()).into());
    }
    let against = arguments.against.as_deref();
    let against = against.map(record::find_baseline).transpose()?;
    let runs = arguments.runs.iter().zip(&folders);
    let runs = runs.map(|(named, folder)| {
        ReportedRun::read(&named.display().to_string(), folder, against.as_deref())
    });
    let runs: Vec<ReportedRun> = runs.collect::<Result<_, Failure>>()?;
    let contents = match (arguments.svg, &runs[..]) {
        (Some(kind), [run]) => picture(run, kind.into())?,
        _ => page(&runs, registry)?,
    };
    write(&arguments.output, &contents)?;
    print(&text(&runs))
}

impl ReportArguments {
    /// Checks that the file is one for the page or for the picture.
    fn check_output(&self) -> Result<(), Failure> {
        let is_picture = self.svg.is_some();
        let checked = check_output(&self.output, if is_picture { SVG } else { HTML });
        checked.map_err(|failure| match failure {
            Failure::Usage(problem) if !is_picture => Failure::Usage(format!(
                "{problem}\n  help: `--svg PICTURE -o FILE.svg` draws one picture"
            )),
            failure => failure,
        })
    }
}

/// The folders of the records that users call `named`, each of which is another one.
fn folders(named: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut folders: Vec<PathBuf> = Vec::new();
    let mut known: Vec<(PathBuf, &Path)> = Vec::new();
    for name in named {
        let folder = record::find(name)?;
        let place = fs::canonicalize(&folder).unwrap_or_else(|_| folder.clone());
        if let Some((_, before)) = known.iter().find(|(known, _)| *known == place) {
            return Err(Failure::Usage(format!(
                "RUN: `{}` and `{}` are the same record, {}; name it once",
                before.display(),
                name.display(),
                folder.display()
            )));
        }
        known.push((place, name));
        folders.push(folder);
    }
    Ok(folders)
}

impl From<PictureArgument> for PictureKind {
    fn from(argument: PictureArgument) -> Self {
        match argument {
            PictureArgument::Timeline => Self::Timeline,
            PictureArgument::Hosts => Self::Hosts,
            PictureArgument::Supersteps => Self::Supersteps,
            PictureArgument::Notes => Self::Notes,
            PictureArgument::Breakdown => Self::Breakdown,
            PictureArgument::Load => Self::Load,
            PictureArgument::Sets => Self::Sets,
            PictureArgument::Views => Self::Views,
        }
    }
}

const REPORT_ABOUT: &str = "\
Draw from records what runs look like: a page that needs nothing but itself, or a picture.

The page has what rescheduling saved of what it could have saved; where processes were and when they moved; how long \
supersteps took, with those of scenario i; where the time went; how busy hosts were; what moved between Sets; \
how the job went on when nodes were lost; \
every call with its reasons and with what it gained; the configuration, and what made the record. It is one file \
without a network or a server. Several runs stand beside each other, with a table that compares them.

RUN is the folder of a record, as `{bin} simulate FILE --out DIR` and `{bin} run FILE --out DIR` write to DIR/iii. The \
record of a run that did not end is shown as far as it goes, and the page says so.";

const REPORT_HELP: &str = "\
On the page:
  drag over a picture, or + − ← → and 0 while it has the focus, to show a part of the supersteps
  a click on a move, or Enter, opens its reasons; arrow keys lead from move to move
  every picture has its data as a table, and as CSV to save

Scenario i is the record in the folder i beside RUN, as `simulate --out` writes it, or --against DIR.

Exit codes: 1 the file cannot be written; 2 a record is named twice, a picture does not exist, or the name of the file \
has another ending; 4 there is no record, \
or it is broken or of another version.

Examples:
  {bin} simulate conf/lbm.toml --out runs/lbm
  {bin} report runs/lbm -o lbm.html                          a page about the run
  {bin} report runs/lbm --svg timeline -o timeline.svg       one picture
  {bin} simulate conf/lbm.toml --policy adaptive --out runs/adaptive
  {bin} report runs/lbm runs/adaptive -o both.html           policies beside each other

What the pictures show: docs/reference/records.md.";
