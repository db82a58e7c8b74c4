//! What every process finds in a call.

use bsp::{HostId, SetId};
use migbsp::{Config, CostCoefficients, Entry, ProcessHistory, SetView, Situation};
use record::{Evaluated, Evaluation};

use super::observations::Observations;

/// What a process finds.
#[derive(Debug)]
pub(super) struct Found {
    /// Its row of the list.
    pub(super) entry: Entry,
    /// All its potentials.
    pub(super) evaluation: migbsp::Evaluation,
}

impl Found {
    /// How the record of it should read, of which `recorded` has what was observed; the process lives on `host`.
    pub(super) fn as_recorded(&self, recorded: &Evaluation, host: HostId) -> Evaluation {
        Evaluation {
            rank: self.entry.rank,
            host,
            instructions: recorded.instructions,
            bytes: recorded.bytes,
            target: self.entry.target,
            potentials: self.evaluation.potentials.clone(),
        }
    }
}

/// The evaluation of every process, by Set and rank; `lives` gives the host of each process, `learned` what had been
/// learned of the cost of moves.
pub(super) fn evaluate(
    model: &Config,
    observations: &Observations,
    lives: &[HostId],
    learned: Option<CostCoefficients>,
) -> Vec<Found> {
    let views = views(observations, lives);
    let evaluate = |recorded: &Evaluation| {
        let rank = recorded.rank;
        let history = ProcessHistory::of_potentials(&recorded.potentials);
        let own = observations.set(recorded.host);
        let found = history.evaluate(
            model,
            &Situation {
                own,
                image: observations.of(rank).image,
                sets: &views[own.index()],
                learned,
            },
        );
        Found {
            entry: found.entry(rank, &history),
            evaluation: found,
        }
    };
    observations.processes().map(evaluate).collect()
}

/// All Sets as processes of each see them; `lives` gives the host of each process.
fn views(observations: &Observations, lives: &[HostId]) -> Vec<Vec<SetView>> {
    let mut processes = vec![0; observations.sets().count()];
    for host in lives {
        processes[observations.set(*host).index()] += 1;
    }
    let offer = |(set, evaluated): (SetId, &Evaluated)| SetView {
        capacity: migbsp::capacity(&observations.processors(set, |hosts| hosts.load)),
        processes: processes[set.index()],
        processors: cores(evaluated),
        transfer_rate: 0.0,
    };
    let offers: Vec<SetView> = observations.sets().map(offer).collect();
    let seen = |(_, evaluated): (SetId, &Evaluated)| {
        let offers = offers.iter().zip(&evaluated.transfer_rates);
        offers
            .map(|(offer, rate)| SetView {
                transfer_rate: *rate,
                ..*offer
            })
            .collect()
    };
    observations.sets().map(seen).collect()
}

/// The number of processors of a Set.
fn cores(evaluated: &Evaluated) -> u32 {
    let hosts = evaluated.hosts.iter();
    hosts
        .map(|hosts| hosts.number.saturating_mul(hosts.cores))
        .fold(0, u32::saturating_add)
}
