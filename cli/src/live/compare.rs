//! `compare --live`: policies in turn on the hosts of a cluster.

use std::collections::BTreeSet;
use std::time::Duration;

use analysis::compare::{LiveComparison, OrderedRun};
use analysis::live::hints;
use experiments::submission::{JobHosts, request};
use experiments::{Failure, Registry};
use indicatif::{MultiProgress, ProgressBar};

use crate::command::Context;
use crate::commands::compare::CompareArguments;
use crate::failure::CommandFailure;
use crate::file::{SVG, check_output};
use crate::live::cluster::{ClusterMembers, JobRunner};
use crate::progress::{RUNS, style};
use crate::signals::TerminationSignal;

/// Runs every experiment under every policy, in each of `repetitions`, on the cluster that the arguments name.
///
/// # Errors
///
/// As [`follow`], or if there is no cluster.
pub(crate) fn execute(
    arguments: &CompareArguments,
    repetitions: u32,
    context: &Context<'_>,
) -> Result<(), CommandFailure> {
    let cluster = ClusterMembers::find(&arguments.cluster, context.registry())?;
    follow(arguments, repetitions, &cluster, context)
}

/// The same, on a cluster that is known.
///
/// # Errors
///
/// Whatever is wrong with the arguments, an experiment or the cluster; after the results, the runs that failed, and
/// [`Failure::Verification`] if a claim does not hold.
pub(crate) fn follow(
    arguments: &CompareArguments,
    repetitions: u32,
    cluster: &ClusterMembers,
    context: &Context<'_>,
) -> Result<(), CommandFailure> {
    let registry = context.registry();
    let comparison = arguments.comparison();
    let live = LiveComparison::new(comparison, repetitions, arguments.order_seed);
    check(&live, cluster, registry)?;
    if let Some(file) = &arguments.svg {
        check_output(file, SVG)?;
    }
    let termination = TerminationSignal::default();
    // Between two runs, too.
    let _waiting = termination.wait();
    let bars = context.has_progress().then(MultiProgress::new);
    let runner = JobRunner {
        cluster,
        registry,
        termination: &termination,
        bars: bars.as_ref(),
    };
    let provenance = arguments.provenance(registry)?;
    let (members, all) = (&cluster.members, live.cases().len());
    match run_all(&live, &runner) {
        Ok(()) => {
            let report = live.report(members, &arguments.claims, &arguments.claims_each);
            let none = || Failure::Usage("no experiment to compare".to_owned());
            arguments.end(&report.ok_or_else(none)?, &provenance)
        }
        Err(CommandFailure::Interrupted(signal)) => {
            let report = live.report(members, &[], &[]);
            if let Some(report) = &report {
                arguments.show(report, &provenance)?;
            }
            let shown = match report {
                Some(_) => "shown are the repetitions that are done under all policies",
                None => "no repetition is done under all policies",
            };
            let done = live.done();
            let message = format!("interrupted: {done} of {all} runs are done; {shown}");
            Err(CommandFailure::Stopped { signal, message })
        }
        Err(failure) => Err(failure),
    }
}

/// Checks that each experiment can be run on the cluster under each policy, and warns of those in which nothing can move.
fn check(
    live: &LiveComparison,
    cluster: &ClusterMembers,
    registry: &Registry,
) -> Result<(), Failure> {
    let mut cases = live.cases();
    cases.retain(|case| case.repetition == 1);
    cases.sort_unstable();
    let mut warned = BTreeSet::new();
    for case in cases {
        let loaded = live.load(case, registry)?;
        let hosts = JobHosts::of(&cluster.members);
        let submitted = request(&loaded, &hosts, registry, false, false);
        let (prepared, _) = submitted.map_err(|failure| failure.of(live.named(case).experiment))?;
        for hint in hints(&prepared, registry, false)? {
            if warned.insert(hint.clone()) {
                tracing::warn!("{hint}");
            }
        }
    }
    Ok(())
}

/// Makes all runs, one after the other. A run that fails is noted, and the others are made.
fn run_all(live: &LiveComparison, runner: &JobRunner<'_>) -> Result<(), CommandFailure> {
    let cases = live.cases();
    let bar = match runner.bars {
        Some(bars) => {
            let runs = u64::try_from(cases.len()).unwrap_or(u64::MAX);
            let bar = bars.add(ProgressBar::new(runs));
            bar.set_style(style(RUNS));
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        }
        None => ProgressBar::hidden(),
    };
    let mut runs = cases.into_iter().map(|case| {
        let loaded = live.load(case, runner.registry)?;
        let (prepared, ended) = runner.execute(&loaded, |_| {})?;
        live.note(case, &prepared, ended.as_ref(), runner.registry)?;
        let OrderedRun {
            repetition,
            experiment,
            policy,
        } = live.named(case);
        match ended {
            Ok(finished) => {
                let seconds = finished.end.seconds.get();
                tracing::info!(repetition, experiment, policy, seconds, "run");
            }
            Err(failure) => {
                tracing::warn!("{experiment}, {policy}, repetition {repetition}: {failure}");
            }
        }
        bar.inc(1);
        Ok(())
    });
    let result = runs.try_for_each(|ended| ended);
    bar.finish_and_clear();
    result
}
