//! The result of a bench of migrations, for people.

use super::report::{KindReport, Report, Summary};
use super::score::{Errors, Scored};
use crate::text::{Layout, counted, data, rounded};

impl Report {
    /// A row per kind of state, and what was learned.
    #[must_use]
    pub fn text(&self, layout: Layout) -> String {
        let [from, to] = &self.nodes;
        let mut text = format!(
            "{} of {} of state between {from} and {to}, each predicted from the moves before it\n\n",
            counted(self.all.moves, "move"),
            counted(self.kinds.len(), "kind"),
        );
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
            "\n\nMoved or not, outputs were equal: {equal} of {all}. `paper` is the mean error of Du, Sun and Wu (2007).\n"
        ));
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

fn summary_row(name: &str, summary: &Summary, ranges: [String; 3]) -> Vec<String> {
    let percent = |part: f64| format!("{} %", rounded(part * 1e2, 2));
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
        of(summary.of_added, |errors| errors.mean_error),
        summary.paper.map_or_else(String::new, percent),
    ]
}
