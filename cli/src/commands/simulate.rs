//! `migbsp simulate`: an experiment on a simulated platform.

use std::io::{self, Write as _};
use std::num::NonZero;
use std::path::PathBuf;
use std::process;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use analysis::advise::{Advice, AdvisedReport, Evidence, Settings, advice};
use analysis::sentences::{missing_checkpoints, missing_hosts};
use analysis::simulate::{is_wanting, unfollowed};
use clap::Args;
use experiments::batch::{Batch, Silent};
use experiments::record::RecordedFailure;
use experiments::{
    Failure, Finished, PreparedExperiment, Provenance, Recorder, Registry, Report, RunFailure,
    RunReport, Scenario, refuse_records,
};
use indicatif::MultiProgress;
use record::Event;
use settings::is_stdin;

use crate::command::{Command, Context, JobsArguments, Overrides, TRACED};
use crate::failure::CommandFailure;
use crate::file::{OutputsPlace, check_folder, outputs_place};
use crate::output::{Format, print, show};
use crate::progress::Progress;
use crate::signals::TerminationSignal;
use crate::topics;

/// Arguments of `simulate`.
#[derive(Debug, Args)]
pub(crate) struct SimulateArguments {
    /// Experiment file, TOML; `-` reads stdin
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) overrides: Overrides,
    #[command(flatten)]
    pub(crate) jobs: JobsArguments,
    /// Show long tables whole
    #[arg(long)]
    pub(crate) all: bool,
    /// Format of the results
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// Folder for the records of the runs: DIR/i, DIR/ii, DIR/iii
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Replace complete records in the folder of --out
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
    /// Compress the events of the records: events.jsonl.gz
    #[arg(long, requires = "out")]
    pub(crate) compress: bool,
    /// Keep what each process did in each superstep in the records, trace.bin: the same as --set run.trace=true
    #[arg(long, requires = "out")]
    pub(crate) trace: bool,
    /// File for the programs' outputs, .json, .csv, .msgpack or .npy; or a folder, DIR/, for them and the files that
    /// the workload makes
    #[arg(long, value_name = "PATH", value_parser = outputs_place())]
    pub(crate) outputs: Option<OutputsPlace>,
    /// Show the configuration in effect, with the origin of each value, instead of running it
    #[arg(long)]
    print_config: bool,
}

/// The command `simulate`. Its help lists the workloads of `registry`.
pub(crate) fn command(registry: &Registry) -> Command {
    Command::new(
        "simulate",
        "Run an experiment on a simulated platform",
        execute,
    )
    .long_about(SIMULATE_ABOUT)
    .after_help(format!(
        "Workloads:\n{}\n{SIMULATE_HELP}",
        topics::workload_list(registry)
    ))
    .example(
        "simulate conf/lbm.toml",
        "with and without rescheduling, compared",
    )
    .example("simulate conf/lbm.toml --set scheduler.interval=8", "")
    .example(
        "simulate conf/lbm.toml --print-config",
        "every key, its value, where it comes from",
    )
    .opening("toml", "simulate")
}

/// Runs the scenarios of an experiment and shows their results.
///
/// # Errors
///
/// Errors of the experiment, the platform, the program or the disk.
fn execute(arguments: &SimulateArguments, context: &Context<'_>) -> Result<(), CommandFailure> {
    let registry = context.registry();
    let mut assignments = arguments.overrides.assignments();
    assignments.extend(arguments.trace.then(|| TRACED.to_owned()));
    let loaded = experiments::load(&arguments.file, &assignments, registry)?;
    let effective = loaded.experiment.effective();
    if arguments.print_config {
        return print(&settings::print(&effective, &loaded.written));
    }
    let prepared = PreparedExperiment::new(loaded)?;
    for warning in prepared.platform.warnings() {
        let platform = prepared.loaded.platform_file();
        tracing::warn!(platform = %platform.display(), "{warning}");
    }
    let scheduler = &prepared.loaded.experiment.scheduler;
    let scenarios = scheduler.scenario.runs(scheduler.policy.as_ref());
    if let Some(folder) = &arguments.out {
        check_folder(folder)?;
        if !arguments.force {
            refuse_records(folder, scenarios)?;
        }
    }
    if let Some(place) = &arguments.outputs {
        let workload = &prepared.loaded.experiment.application.workload;
        place.check(registry.find(workload, None)?)?;
    }
    let mut done = run_all(&prepared, scenarios, arguments, context)?;
    let (last, advised) = done.last_mut().map_or_else(Default::default, |last| {
        (last.finished.take(), std::mem::take(&mut last.advised))
    });
    let runs: Vec<RunReport> = done.into_iter().map(|done| done.report).collect();
    let provenance = || Provenance::of_experiment(&prepared.loaded, registry);
    let written = match (&arguments.outputs, last) {
        (Some(place), Some(finished)) => {
            place.write(&prepared.loaded, registry, &finished, provenance)
        }
        _ => Ok(()),
    };
    warn_of_the_missing(&prepared, &runs);
    let report = Report::new(&prepared.loaded, &prepared.platform, runs);
    let is_wanting = advised.is_empty()
        && prepared.script.is_none()
        && is_wanting(&report)
        && !is_stdin(&arguments.file);
    let advised = AdvisedReport {
        report: &report,
        advice: &advised,
        comparison: is_wanting.then(|| comparison(arguments, registry)),
    };
    show(&advised, (arguments.format, arguments.all), provenance)?;
    written
}

/// Warns of scripted moves and of hosts that were to join, if the runs did not have them.
fn warn_of_the_missing(prepared: &PreparedExperiment, runs: &[RunReport]) {
    let platform = &prepared.platform;
    let script = prepared.script.iter();
    let unfollowed = script.flat_map(|script| unfollowed(script, runs, platform));
    let joins = runs.last().map_or(&[][..], |run| &run.joins);
    let elasticity = prepared.elasticity.iter();
    let missing = elasticity.flat_map(|elasticity| missing_hosts(elasticity, joins, platform));
    let is_on = prepared.checkpointing.is_some();
    let saved = runs.last().and_then(|run| run.checkpoints.as_ref());
    if let Some(warning) = missing_checkpoints(is_on, saved) {
        tracing::warn!("{warning}");
    }
    for warning in unfollowed.chain(missing) {
        tracing::warn!("{warning}");
    }
}

/// The comparison that shows what other policies save.
fn comparison(arguments: &SimulateArguments, registry: &Registry) -> String {
    let (program, file) = (registry.program(), arguments.file.display());
    let set = arguments.overrides.of_comparison();
    format!("{program} compare {file}{set}")
}

/// All scenarios, side by side.
fn run_all(
    prepared: &PreparedExperiment,
    scenarios: &[Scenario],
    arguments: &SimulateArguments,
    context: &Context<'_>,
) -> Result<Vec<Done>, Failure> {
    let registry = context.registry();
    let bars = context.has_progress().then(MultiProgress::new);
    let recordings = Recordings::ended_by_signals();
    // A log has the events of one scenario after those of another.
    let is_logged = tracing::enabled!(tracing::Level::INFO);
    let batch = Batch {
        jobs: if is_logged {
            Some(NonZero::<usize>::MIN)
        } else {
            arguments.jobs.threads()
        },
        progress: &Silent,
    };
    batch.run(scenarios, |scenario| {
        let is_last = Some(scenario) == scenarios.last();
        let record = match &arguments.out {
            Some(folder) => {
                let recorder = Recorder::new(folder, *scenario, prepared, registry)?;
                let recorder = recorder.replacing(arguments.force);
                recordings.begin(recorder.compressing(arguments.compress))
            }
            None => Recording::default(),
        };
        let mut done = run(
            prepared,
            *scenario,
            (arguments, registry),
            record,
            bars.as_ref(),
        )?;
        // The outputs of all scenarios are equal, and may be large.
        done.finished.take_if(|_| !is_last);
        Ok(done)
    })
}

/// The result of a scenario.
struct Done {
    report: RunReport,
    finished: Option<Finished>,
    advised: Vec<Advice>,
}

/// One scenario, with progress on stderr and a record if requested.
fn run(
    prepared: &PreparedExperiment,
    scenario: Scenario,
    (arguments, registry): (&SimulateArguments, &Registry),
    mut record: Recording,
    bars: Option<&MultiProgress>,
) -> Result<Done, Failure> {
    let supersteps = prepared.loaded.experiment.application.supersteps;
    let mut progress = Progress::below(bars, scenario, supersteps, &prepared.platform);
    let mut evidence = Evidence::default();
    let mut observer = |event: &Event| {
        progress.observe(event);
        evidence.observe(event);
        record.observe(event);
    };
    let finished = prepared.run(scenario, registry, &mut observer);
    progress.finish();
    let finished = match finished {
        Ok(finished) => finished,
        Err(failure) => {
            let failure = kept(prepared, (arguments, registry), failure)?;
            record.fail(&failure);
            return Err(failure);
        }
    };
    let report = RunReport::new(scenario, &finished, &prepared.platform);
    record.finish(&report)?;
    Ok(Done {
        report,
        finished: Some(finished),
        advised: advice(
            &evidence,
            &Settings::new(&prepared.loaded.experiment.scheduler, scenario),
        ),
    })
}

/// The failure of a run; outputs that were rejected are kept, if outputs are wanted.
///
/// # Errors
///
/// If there is no such workload.
fn kept(
    prepared: &PreparedExperiment,
    (arguments, registry): (&SimulateArguments, &Registry),
    failure: RunFailure,
) -> Result<Failure, Failure> {
    let workload = &prepared.loaded.experiment.application.workload;
    let entry = registry.find(workload, None)?;
    Ok(match (failure, &arguments.outputs) {
        (RunFailure::Rejected(rejected), Some(place)) => place.keep_rejected(entry, *rejected),
        (failure, _) => failure.into(),
    })
}

const SIMULATE_ABOUT: &str = "\
Run an experiment on a simulated platform, under a simulated clock.

The experiment names the program, the platform and the policy. Scenario i is the application alone; in ii \
calls are held and paid for, but no process migrates; in iii processes migrate. All three run, on \
all cores or --jobs threads, and show the gain of rescheduling; `--set scheduler.scenario=iii` runs one. Where the results show what holds the run up, the last lines say which \
policy or setting to try.";

const SIMULATE_HELP: &str = "\
Configuration, later sources override earlier ones:
  built-in defaults < FILE < environment MIGBSP__SECTION__KEY=VALUE < --set SECTION.KEY=VALUE
  < -n, --seed, --policy
Paths in FILE are relative to FILE, and those on stdin to the current folder. Values are TOML; strings need no quotes in --set.

Units: bare numbers are bytes, instructions, seconds. Or with a unit, as a string: \"900 kB\",
  \"4 MiB\", \"100 Minstr\", \"50 us\", \"15 min\"; \"0.21 us/B\" for the rates of [scheduler.migration];
  `{bin} help units` lists them.

Formats:
  table  the scenarios, the calls with migrations, and the gain compared with the possible gain
  json   one object, schema migbsp.simulate/1, times in seconds at full precision
  csv    one row per migration, and one per scenario without any; the scenario's totals in every row

Outputs of the programs (--outputs), those of the last scenario that runs; all scenarios have the same:
  .json, .msgpack  a list with the output of each process
  .csv             one row per process, a column for each number or text
  .npy             an array for NumPy, of numbers or of arrays of equal shape
  DIR/             outputs.json, and files of the workload: pictures, arrays, an alignment

Examples:
  {bin} simulate conf/lbm.toml -n 100 --policy adaptive --seed 3
  {bin} simulate conf/synthetic.toml --set 'application.synthetic.instructions=[1e8, 4e8]'
  MIGBSP__SCHEDULER__INTERVAL=16 {bin} simulate conf/lbm.toml --format json --out runs/lbm
  {bin} simulate conf/lbm-cavity.toml --outputs cavity/
  {bin} simulate conf/scripted.toml                  what if? scripted migrations

Every key is explained in docs/reference/experiments.md; what a call decides, in docs/model.md.";

/// The records of simulations that go on.
#[derive(Debug, Default)]
struct Recordings {
    all: Mutex<Vec<Arc<Mutex<Option<Recorder>>>>>,
}

/// The record of one simulation, if one is wanted.
#[derive(Debug, Default)]
struct Recording {
    recorder: Option<Arc<Mutex<Option<Recorder>>>>,
}

impl Recordings {
    /// None yet. From now on a signal ends the process, and these records with what they have.
    fn ended_by_signals() -> Arc<Self> {
        let recordings = Arc::new(Self::default());
        let ended = Arc::clone(&recordings);
        // Without the thread, the system ends the process.
        drop(
            thread::Builder::new()
                .name("interrupt".to_owned())
                .spawn(move || {
                    let termination = TerminationSignal::default();
                    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().build() else {
                        return;
                    };
                    runtime.block_on(termination.clone().received());
                    let signal = termination.number().unwrap_or_default();
                    let records = ended.end(signal);
                    let names: Vec<String> = records
                        .iter()
                        .map(|record| record.display().to_string())
                        .collect();
                    let kept = match &names[..] {
                        [] => String::new(),
                        names => format!(": what was complete is in {}", names.join(", ")),
                    };
                    drop(writeln!(io::stderr(), "error: interrupted{kept}"));
                    process::exit(128_i32.saturating_add(signal.into()));
                }),
        );
        recordings
    }

    /// The record that `recorder` keeps.
    fn begin(&self, recorder: Recorder) -> Recording {
        let recorder = Arc::new(Mutex::new(Some(recorder)));
        lock(&self.all).push(Arc::clone(&recorder));
        Recording {
            recorder: Some(recorder),
        }
    }

    /// Ends all records that have begun, because the process received `signal`. Returns their folders.
    fn end(&self, signal: u8) -> Vec<PathBuf> {
        let failure = RecordedFailure::interrupted(signal);
        let mut folders = Vec::new();
        for recording in &*lock(&self.all) {
            // Nothing is recorded after the end.
            let recorder = lock(recording).take();
            if let Some(recorder) = recorder.filter(Recorder::has_begun) {
                let folder = recorder.folder().to_owned();
                if recorder.fail(&failure).is_ok() {
                    folders.push(folder);
                }
            }
        }
        folders
    }
}

impl Recording {
    /// Handles an event.
    fn observe(&mut self, event: &Event) {
        if let Some(recorder) = &self.recorder
            && let Some(recorder) = &mut *lock(recorder)
        {
            recorder.observe(event);
        }
    }

    /// Completes the record of a run that has ended.
    ///
    /// # Errors
    ///
    /// If the disk does not take it.
    fn finish(self, report: &RunReport) -> Result<(), Failure> {
        let recorder = self.take();
        recorder.map_or(Ok(()), |recorder| recorder.finish(report))
    }

    /// Ends the record of a run that has failed.
    fn fail(self, failure: &Failure) {
        let recorder = self.take();
        let written = recorder.map(|recorder| recorder.fail(&failure.into()));
        if let Some(Err(error)) = written {
            // The failure itself is what the command reports.
            tracing::warn!("the record does not say why the run failed: {error}");
        }
    }

    fn take(self) -> Option<Recorder> {
        let recorder = self.recorder?;
        lock(&recorder).take()
    }
}

/// A thread that panics ends the command.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
