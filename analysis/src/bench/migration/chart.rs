//! What moves took, over what they were predicted to take.

use super::report::Report;
use crate::chart::{Lines, Scale, Series, Style};

impl Report {
    /// A point for each move, and the line on which prediction and measurement agree.
    #[must_use]
    pub fn svg(&self) -> String {
        let all = || self.kinds.iter().flat_map(|kind| &kind.each);
        let times = || all().flat_map(|one| [one.predicted_seconds, one.frozen_seconds]);
        let least = times()
            .filter(|time| 0.0 < *time)
            .fold(f64::INFINITY, f64::min);
        let most = times().fold(0.0, f64::max);
        let kinds = self.kinds.iter().enumerate().map(|(index, kind)| Series {
            name: kind.kind.clone(),
            points: kind
                .each
                .iter()
                .map(|one| (one.predicted_seconds, one.frozen_seconds))
                .collect(),
            style: if index % 2 == 0 {
                Style::Marks
            } else {
                Style::Rings
            },
            is_paired: false,
        });
        let agreement = Series {
            name: "as predicted".to_owned(),
            points: vec![(least, least), (most, most)],
            style: Style::Dashed,
            is_paired: false,
        };
        let [from, to] = &self.settings.nodes;
        let chart = Lines {
            title: format!("Moves between {from} and {to}"),
            note: "Each was predicted from the moves before it.".to_owned(),
            x_label: "predicted, seconds".to_owned(),
            y_label: "frozen, seconds".to_owned(),
            x_is_log: true,
            y_scale: Scale::Logarithmic,
            series: kinds.chain([agreement]).collect(),
        };
        chart.svg()
    }
}
