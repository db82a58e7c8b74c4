//! Claims of the paper, each with a number of ours.

use serde::Serialize;

use crate::du::printed::Printed;

/// A claim of the paper, or a property of the reproduction, with the range in which our number must lie.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Check {
    pub(super) id: &'static str,
    pub(super) claim: String,
    /// Unit of the numbers; empty: none.
    pub(super) unit: &'static str,
    /// The published value.
    pub(super) paper: Option<f64>,
    /// Our value.
    pub(super) ours: f64,
    /// `ours / paper - 1`.
    pub(super) error: Option<f64>,
    /// The least value for which the claim holds.
    pub(super) least: f64,
    /// The greatest value for which the claim holds.
    pub(super) most: f64,
    /// Whether it holds.
    pub(super) holds: bool,
}

impl Check {
    /// Whether `ours` is `paper` to the precision to which it is printed.
    pub(super) fn printed(
        id: &'static str,
        claim: impl Into<String>,
        unit: &'static str,
        paper: Printed,
        ours: f64,
    ) -> Self {
        Self {
            paper: Some(paper.value),
            error: Some(ours / paper.value - 1.0),
            ..Self::within(id, claim, unit, paper.range(), ours)
        }
    }

    /// Whether `ours` is in a range.
    pub(super) fn within(
        id: &'static str,
        claim: impl Into<String>,
        unit: &'static str,
        [least, most]: [f64; 2],
        ours: f64,
    ) -> Self {
        Self {
            id,
            claim: claim.into(),
            unit,
            paper: None,
            ours,
            error: None,
            least,
            most,
            holds: (least..=most).contains(&ours),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_agrees_if_it_is_printed_alike() {
        let paper = Printed {
            value: 15.46,
            precision: 0.005,
        };
        let check = |ours| Check::printed("end", "the end", "s", paper, ours);
        assert!(check(15.4649).holds && check(15.4551).holds);
        let missed = check(15.898);
        assert!(!missed.holds, "{missed:?}");
        assert!(
            (missed.error.unwrap() - 0.028_331).abs() < 1e-6,
            "{missed:?}"
        );
        assert!(!check(f64::NAN).holds);
    }
}
