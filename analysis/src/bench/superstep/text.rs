//! The result of a bench of supersteps, for people.

use super::report::{Measured, Relation, Report};
use crate::text::{Layout, counted, data, duration, rounded};

impl Report {
    /// g and l of all processes and of pairs of Sets, and measured times beside the fit.
    #[must_use]
    pub fn text(&self, layout: Layout) -> String {
        let processes = usize::try_from(self.processes).unwrap_or(usize::MAX);
        let rate = self.flops_per_second;
        let rate = rate.map_or_else(unknown, |rate| rounded(rate / 1e6, 1));
        let mut text = format!(
            "p = {} on {}, r = {rate} Mflop/s, median of {}\n\n",
            counted(processes, "process"),
            counted(self.nodes, "node"),
            counted(
                usize::try_from(self.repetitions).unwrap_or(usize::MAX),
                "repetition"
            ),
        );
        let headers = ["between", "g flop", "l flop", "g", "l", "h = 0", "residual"];
        let pairs = self.pairs.iter();
        let pairs = pairs.map(|pair| row(&pair.sets.join(", "), &pair.measured));
        let rows = std::iter::once(row("all processes", &self.all)).chain(pairs);
        text.push_str(&layout.reduced_table(&headers, rows, &[6, 5]));
        text.push('\n');
        let every = if layout.is_whole { 1 } else { SHOWN };
        let relations = self.all.each.iter().step_by(every).map(relation_row);
        let headers = ["words", "data", "measured", "fit"];
        text.push_str(&layout.table(&headers, relations));
        text.push_str(
            "\nA superstep of w flop and an h-relation takes (w + g·h + l) / r; a word has 8 bytes.\n",
        );
        let is_hidden = |measured: &Measured| measured.l_seconds.is_some_and(|l| l <= 0.0);
        let mut all =
            std::iter::once(&self.all).chain(self.pairs.iter().map(|pair| &pair.measured));
        if all.any(is_hidden) {
            text.push_str(
                "An l that is not above 0 is hidden by noise: take more --repetitions or a smaller --h.\n",
            );
        }
        text
    }
}

fn row(name: &str, measured: &Measured) -> Vec<String> {
    let flops = |flops: Option<f64>| flops.map_or_else(unknown, |flops| rounded(flops, 1));
    let time = |seconds: Option<f64>| seconds.map_or_else(unknown, duration);
    let residual = measured.residual;
    vec![
        name.to_owned(),
        flops(measured.g_flops),
        flops(measured.l_flops),
        time(measured.g_seconds),
        time(measured.l_seconds),
        time(measured.empty_seconds),
        residual.map_or_else(unknown, |part| format!("{} %", rounded(part * 1e2, 1))),
    ]
}

fn relation_row(relation: &Relation) -> Vec<String> {
    vec![
        relation.words.to_string(),
        data(f64::from(relation.words) * 8.0),
        duration(relation.seconds),
        relation.fitted_seconds.map_or_else(unknown, duration),
    ]
}

fn unknown() -> String {
    "-".to_owned()
}

/// Of this many numbers of words one is shown.
const SHOWN: usize = 8;
