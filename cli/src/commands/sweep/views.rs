//! How the results of a sweep are shown.

use std::path::{Path, PathBuf};

use analysis::sweep::{Grid, Report, SweepFolder, chart, chart_parameters, page, text};
use clap::Args;
use experiments::Failure;

use crate::failure::CommandFailure;
use crate::file::{HTML, SVG, check_output, write};
use crate::output::{Format, print, print_json, print_text};

/// Arguments of commands that have the results of a sweep.
#[derive(Clone, Debug, Args)]
pub(super) struct ViewArguments {
    /// Format of the results
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: Format,
    /// Show long tables whole
    #[arg(long)]
    all: bool,
    /// File for a chart: lines over one parameter, a heat map over two
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Parameter of the chart, others are averaged; can be given twice [default: all with several values]
    #[arg(long, value_name = "SECTION.KEY", requires = "svg")]
    over: Vec<String>,
    /// File for a page with charts and a table
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl ViewArguments {
    /// Checks that a sweep of `grid` can be shown like this, before the work for it begins.
    ///
    /// # Errors
    ///
    /// If the chart has no parameters, or a file cannot be written.
    pub(super) fn check(&self, grid: &Grid) -> Result<(), Failure> {
        if self.svg.is_some() {
            chart_parameters(grid, &self.over)?;
        }
        let files = self.svg.iter().map(|file| (file, SVG));
        let files = files.chain(self.html.iter().map(|file| (file, HTML)));
        files
            .into_iter()
            .try_for_each(|(file, kind)| check_output(file, kind))
    }

    /// Writes the table of the sweep in `folder`, all of whose runs are done, and shows the results; people read where
    /// the table is if it stays there.
    ///
    /// # Errors
    ///
    /// If runs are missing, or a file cannot be written; after the results, if a run has none.
    pub(super) fn show(&self, folder: &Path, stays: bool) -> Result<(), CommandFailure> {
        let sweep = SweepFolder::read(folder)?;
        let swept = sweep.swept();
        if !swept.is_complete() {
            let (folder, done, all) = (folder.display(), swept.runs(), sweep.plan.runs);
            let problem = format!("{folder}: has {done} of {all} runs: another process changed it");
            return Err(Failure::Run(problem).into());
        }
        let (report, provenance) = (Report::new(&swept), sweep.provenance()?);
        let table = report.csv(&provenance)?;
        let file = folder.join(SweepFolder::TABLE);
        write(&file, &table)?;
        match self.format {
            Format::Table => print_text(self.all, |layout| {
                let (count, different) = (swept.runs(), swept.different_runs());
                let same = if different < count {
                    format!(", {different} different ones")
                } else {
                    String::new()
                };
                let place = stays.then(|| format!("\n{count} runs{same}: {}\n", file.display()));
                text(&report, layout) + &place.unwrap_or_default()
            })?,
            Format::Json => print_json(&provenance, &report)?,
            Format::Csv => print(&table)?,
        }
        if let Some(file) = &self.svg {
            let over = chart_parameters(&sweep.plan.grid, &self.over)?;
            write(file, &chart(&swept, &over))?;
        }
        if let Some(file) = &self.html {
            write(file, &page(&swept))?;
        }
        match swept.failure() {
            Some(failure) => Err(Failure::Run(failure).into()),
            None => Ok(()),
        }
    }
}
