//! The gains of policies as a chart.

use crate::chart::{Group, Interval, Intervals};
use crate::compare::report::Report;
use crate::compare::summary::{Overall, Summary};

/// The gain of every policy: over all experiments first, if there are several, then on each. A policy has the same
/// colour everywhere.
pub fn chart(report: &Report) -> Intervals {
    let compared = |policy: &String| *policy != report.reference;
    let policies: Vec<&str> = report.overall.iter().map(|row| &*row.policy).collect();
    let percent = |part: Option<f64>| part.map_or(f64::NAN, |part| part * 100.0);
    let all = |overall: &Overall| {
        let pair = report.pairs.iter().find(|pair| {
            pair.experiment.is_none()
                && pair.policy == overall.policy
                && pair.against == report.reference
        });
        let gain = |ratio: Option<f64>| percent(ratio.map(|ratio| 1.0 - ratio));
        Interval {
            name: overall.policy.clone(),
            colour: colour(&policies, &overall.policy),
            mean: percent(overall.gain),
            low: gain(pair.and_then(|pair| pair.ratio_high)),
            high: gain(pair.and_then(|pair| pair.ratio_low)),
        }
    };
    let single = |summary: &Summary| Interval {
        name: summary.policy.clone(),
        colour: colour(&policies, &summary.policy),
        mean: percent(summary.gain),
        low: percent(summary.gain_low),
        high: percent(summary.gain_high),
    };
    let mut groups = Vec::new();
    if 1 < report.experiments.len() {
        let overall = report.overall.iter().filter(|row| compared(&row.policy));
        groups.push(Group {
            name: format!("All {}, geometric mean", report.experiments.len()),
            rows: overall.map(all).collect(),
        });
    }
    let summaries = report.summaries.chunks(policies.len());
    for (subject, summaries) in report.experiments.iter().zip(summaries) {
        let rows = summaries.iter().filter(|row| compared(&row.policy));
        groups.push(Group {
            name: subject.label.clone(),
            rows: rows.map(single).collect(),
        });
    }
    Intervals {
        title: format!(
            "Gain against {}, with confidence intervals",
            report.reference
        ),
        unit: "% of the makespan".to_owned(),
        groups,
    }
}

/// The number of the colour of `policy`. `migbsp` and `adaptive` have theirs in all comparisons, others by their places
/// among `policies`.
fn colour(policies: &[&str], policy: &str) -> usize {
    let kept = |policy: &str| KEPT.iter().position(|kept| *kept == policy);
    kept(policy).unwrap_or_else(|| {
        let mut others = policies.iter().filter(|policy| kept(policy).is_none());
        KEPT.len() + others.position(|other| *other == policy).unwrap_or(0)
    })
}

/// Policies that have the same colour in all comparisons.
const KEPT: [&str; 2] = ["migbsp", "adaptive"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::results::tests::results;

    #[test]
    fn all_experiments_stand_first_and_a_policy_has_one_colour() {
        let two = results(&[(false, &[&[10.0], &[5.0]]), (false, &[&[10.0], &[11.0]])]);
        let drawn = chart(&Report::new(&two, &[], &[]));
        let names: Vec<&str> = drawn.groups.iter().map(|group| &*group.name).collect();
        assert_eq!(names, ["All 2, geometric mean", "e0", "e1"]);
        let rows: Vec<&Interval> = drawn.groups.iter().flat_map(|group| &group.rows).collect();
        assert_eq!(rows.len(), 3);
        assert!(
            rows.iter()
                .all(|row| row.name == "b" && row.colour == rows[0].colour)
        );
        assert!((rows[1].mean - 50.0).abs() < 1e-9, "{rows:?}");
        let one = results(&[(false, &[&[10.0], &[5.0]])]);
        assert_eq!(chart(&Report::new(&one, &[], &[])).groups.len(), 1);
    }

    #[test]
    fn colours_do_not_depend_on_the_order_of_well_known_policies() {
        let policies = ["none", "adaptive", "menon", "migbsp"];
        let colours = policies.map(|policy| colour(&policies, policy));
        assert_eq!(colours, [2, 1, 3, 0]);
        assert_eq!(colour(&["migbsp"], "migbsp"), 0);
    }
}
