//! The result of a bench of migrations, for people.

use super::report::{KindReport, Report, Settings, Summary};
use super::score::{Errors, Scored};
use crate::text::{Layout, counted, data, rounded};

impl Report {
    /// A row per kind of state, and what was learned.
    #[must_use]
    pub fn text(&self, layout: Layout) -> String {
        let Settings {
            nodes: [from, to],
            state: [least, most],
            level,
            dwell_seconds,
        } = &self.settings;
        let mut text = format!(
            "{} of {} of state between {from} and {to}, each predicted from the moves before it\nProblems of {least} to {most}",
            counted(self.all.moves, "move"),
            counted(self.kinds.len(), "kind"),
        );
        if let Some(level) = level {
            text.push_str(&format!("; level of the link {level}"));
        }
        if let Some(dwell) = dwell_seconds {
            text.push_str(&format!(", held for {} s on average", rounded(*dwell, 3)));
        }
        text.push_str("\n\n");
        let headers = [
            "kind",
            "moves",
            "state",
            "predicted s",
            "frozen s",
            "error: mean",
            "median",
            "p90",
            "of added time",
            "paper",
        ];
        let mut rows: Vec<Vec<String>> = self.kinds.iter().map(row).collect();
        rows.push(summary_row("all", &self.all, [const { String::new() }; 3]));
        text.push_str(&layout.reduced_table(&headers, rows, &[8, 3, 4, 9]));
        if let Some(estimators) = &self.estimators {
            let rows = estimators.iter().map(|one| {
                let errors = one.errors;
                let name = one.estimator.to_owned();
                let errors = [errors.mean_error, errors.median_error, errors.p90_error];
                [vec![name], errors.map(percent).to_vec()].concat()
            });
            text.push('\n');
            text.push_str(&layout.table(&["bandwidth from", "error: mean", "median", "p90"], rows));
        }
        for kind in &self.kinds {
            if let Some(model) = &kind.model {
                let processing = model
                    .processing_rate
                    .map_or_else(String::new, |rate| format!(", packing {}/s", data(rate)));
                text.push_str(&format!(
                    "\n{}: α0 = {} ms, α1 = {}{processing}",
                    kind.kind,
                    rounded(model.startup_seconds * 1e3, 3),
                    rounded(model.overlap, 3),
                ));
            }
        }
        let [equal, all] = self.equal_outputs;
        text.push_str(&format!(
            "\n\nMoved or not, outputs were equal: {equal} of {all}. `of added time` is the mean error against what moves added to the\n\
             run with the probe (Du, Sun and Wu 2007, 3-2), and `paper` the one that they report.\n"
        ));
        let added = self.all.of_added.map_or(0, |of_added| of_added.moves);
        if added < self.all.moves {
            text.push_str(&format!(
                "{} added no time that could be told from noise.\n",
                counted(self.all.moves - added, "move")
            ));
        }
        text
    }
}

fn row(kind: &KindReport) -> Vec<String> {
    let range = |values: &dyn Fn(&Scored) -> f64| {
        let least = kind.each.iter().map(values).fold(f64::INFINITY, f64::min);
        let most = kind.each.iter().map(values).fold(0.0, f64::max);
        (least, most)
    };
    let (small, large) = range(&|one| bsp::units::Bytes(one.bytes).as_f64());
    let seconds =
        |(least, most): (f64, f64)| format!("{} to {}", rounded(least, 4), rounded(most, 4));
    if kind.each.is_empty() {
        return summary_row(&kind.kind, &kind.summary, [const { String::new() }; 3]);
    }
    let ranges = [
        format!("{} to {}", data(small), data(large)),
        seconds(range(&|one| one.predicted_seconds)),
        seconds(range(&|one| one.frozen_seconds)),
    ];
    summary_row(&kind.kind, &kind.summary, ranges)
}

fn percent(part: f64) -> String {
    format!("{} %", rounded(part * 1e2, 2))
}

fn summary_row(name: &str, summary: &Summary, ranges: [String; 3]) -> Vec<String> {
    let of = |errors: Option<Errors>, which: fn(Errors) -> f64| {
        errors.map_or_else(String::new, |errors| percent(which(errors)))
    };
    let [state, predicted, frozen] = ranges;
    vec![
        name.to_owned(),
        summary.moves.to_string(),
        state,
        predicted,
        frozen,
        of(summary.errors, |errors| errors.mean_error),
        of(summary.errors, |errors| errors.median_error),
        of(summary.errors, |errors| errors.p90_error),
        of(summary.of_added.map(|of_added| of_added.errors), |errors| {
            errors.mean_error
        }),
        summary.paper.map_or_else(String::new, percent),
    ]
}
