//! Advice about programs whose processes are rescheduled.

mod calls;
mod case;
mod load_window;
mod moves;
mod placement;
mod times;

use experiments::{Failure, Scenario};

use self::case::Case;
use self::times::Times;
use crate::advice::{Settings, advice};
use crate::advise::reading::Reading;
use crate::advise::report::{Recommendation, Report};
use crate::explain::settled_calls;

/// The advice about the run whose record `reading` is.
///
/// # Errors
///
/// If the record cannot be read any more.
pub(super) fn advise(reading: &Reading) -> Result<Report, Failure> {
    let times = Times::of(reading);
    let case = Case {
        reading,
        times,
        settings: settings(reading),
        settled: settled_calls(&reading.folder)?,
    };
    let mut recommendations = recommendations(&case);
    recommendations.retain(|one| LEAST_GAIN < one.predicted_gain);
    recommendations.sort_by(|one, other| other.predicted_gain.total_cmp(&one.predicted_gain));
    Ok(Report {
        record: reading.folder.display().to_string(),
        scenario: reading.manifest.scenario.clone(),
        workload: reading.workload().to_owned(),
        seconds: reading.seconds(),
        ideal_seconds: times.mean,
        losses: times.losses(),
        farm: None,
        notes: notes(&case),
        recommendations,
        rejected: Vec::new(),
    })
}

/// The recommendations of all rules.
fn recommendations(case: &Case<'_>) -> Vec<Recommendation> {
    if !case.settings.can_be_advised {
        return Vec::new();
    }
    let known = advice(&case.reading.evidence, &case.settings);
    [
        placement::advice(case, &known),
        calls::advice(case, &known),
        moves::advice(case),
        load_window::advice(case),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What limits the advice.
fn notes(case: &Case<'_>) -> Vec<String> {
    let policy = &case.settings.policy;
    let mut notes = vec![format!("The policy is {policy}.")];
    if case.settings.can_be_advised {
        notes.push(
            "Gains are upper bounds: what the cause of a recommendation took from the run."
                .to_owned(),
        );
        if case.settled.is_none() {
            notes.push(
                "Without the record of scenario i beside this one, it is not judged whether moves paid."
                    .to_owned(),
            );
        }
    } else {
        notes.push(
            "Advice is about runs in which the policy may move processes: scenario iii, without a script."
                .to_owned(),
        );
    }
    notes
}

/// The settings of the run that rules depend on.
fn settings(reading: &Reading) -> Settings {
    let scheduler = &reading.manifest.configuration["scheduler"];
    let script = scheduler["script"].as_array();
    let is_free = Scenario::named(&reading.manifest.scenario) == Some(Scenario::Iii);
    let interval = scheduler["interval"].as_u64().unwrap_or_default();
    Settings {
        policy: reading.manifest.policy().unwrap_or_default().to_owned(),
        interval: u32::try_from(interval).unwrap_or(u32::MAX),
        overhead: scheduler["planning"]["overhead"].as_f64().unwrap_or(1.0),
        can_be_advised: is_free && script.is_none_or(Vec::is_empty),
    }
}

/// The least part of the makespan that a recommendation has to save.
const LEAST_GAIN: f64 = 0.01;
