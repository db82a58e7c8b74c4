//! The slowest process to any host of the idle list.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::plan::destination::DestinationChoice;
use crate::plan::draft::{Draft, Plan};
use crate::rule::{Need, Parameter, Rule};
use crate::{Planning, Snapshot};

/// Random selection (Du, Sun and Wu 2007, section 5): the slowest process moves to a host of the idle list, each with the
/// same probability.
#[derive(Clone, Debug)]
struct Random {
    planning: Planning,
    draws: ChaCha8Rng,
}

impl Plan for Random {
    fn draft(&mut self, snapshot: &Snapshot) -> Draft {
        let name = RULE.name();
        let Some(choice) = DestinationChoice::of(snapshot, &self.planning, false) else {
            return Draft::only(name, snapshot, snapshot.places().to_vec());
        };
        let idle: Vec<_> = choice.idle().map(|host| host.host).collect();
        let number = u64::try_from(idle.len()).expect("fewer hosts than 2^64");
        // The remainder favours the first hosts by less than one part in 2^32.
        let drawn = (0 < number).then(|| self.draws.next_u64() % number);
        let drawn = drawn.and_then(|drawn| idle.get(usize::try_from(drawn).ok()?).copied());
        choice.draft(name, snapshot, drawn)
    }
}

/// `random`.
pub(super) const RULE: Rule<dyn Plan> = Rule::<dyn Plan>::new(
    "random",
    "moves the slowest process to a host that is drawn (Du, Sun and Wu, 2007)",
    |settings| {
        let seed = settings.argument("seed").to_bits();
        Box::new(Random {
            planning: *settings.planning,
            draws: ChaCha8Rng::seed_from_u64(seed),
        })
    },
)
.with_need(Need::Utilisation)
.with_parameters(&[Parameter {
    name: "seed",
    help: "seed of the draws",
    default: 1.0,
    min: 0.0,
    max: 1e9,
}]);

#[cfg(test)]
mod tests {
    use crate::plan::tests::snapshot;
    use crate::{Config, Policy};

    use super::*;

    #[test]
    fn all_hosts_of_the_idle_list_are_drawn_equally_often() {
        let snapshot = snapshot(&[1.0; 5], &[(0, 1.0)]);
        let policy: Policy = "fixed+random".parse().unwrap();
        let plan = policy.plan(&Config::default(), &Planning::default());
        let mut plan = plan.unwrap();
        let mut counts = [0_u32; 5];
        for _ in 0..4000 {
            counts[plan.draft(&snapshot).places[0]] += 1;
        }
        assert_eq!(counts[0], 0);
        assert!(
            counts[1..].iter().all(|count| (880..1120).contains(count)),
            "{counts:?}"
        );
    }
}
