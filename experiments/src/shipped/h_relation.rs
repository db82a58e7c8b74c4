//! Supersteps of h-relations.

use settings::Files;
use workloads::h_relation::{Exchanged, HRelation, Parameters, processes};

use crate::workload::{Common, Rejection, Workload};

/// Supersteps in which all processes exchange the same number of words.
#[derive(Clone, Copy, Debug)]
pub(super) struct HRelations;

impl Workload for HRelations {
    type Parameters = Parameters;
    type Program = HRelation;
    const NAME: &'static str = "h-relation";
    const ABOUT: &'static str = "every process sends and receives h words, to measure r, g and l";

    fn draws(_: &Parameters) -> bool {
        false
    }

    fn build(parameters: &Parameters, common: Common) -> Result<Vec<HRelation>, String> {
        processes(parameters, common).map_err(|error| error.to_string())
    }

    /// Receivers have checked every message; the sum of all is left to check.
    fn verify(
        _parameters: &Parameters,
        _common: Common,
        _files: Files<'_>,
        outputs: &[Exchanged],
    ) -> Result<Option<String>, Rejection> {
        let sent: u128 = outputs.iter().map(|process| u128::from(process.sent)).sum();
        let received = outputs.iter().map(|process| u128::from(process.received));
        let received: u128 = received.sum();
        if sent != received {
            let problem = format!("{received} of {sent} words have arrived");
            return Err(Rejection::Outputs(problem));
        }
        Ok(Some(format!("all {sent} words have arrived as they were")))
    }
}
