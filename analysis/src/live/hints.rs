//! What a run on real hosts cannot show, before it begins.

use experiments::submission::scenario;
use experiments::{Failure, PreparedExperiment, Registry, Scenario};

/// Why processes of `prepared` have no reason to move, or no way to, on real hosts. `plays`: nodes play the platform of the
/// experiment.
///
/// # Errors
///
/// If this binary does not know the workload.
pub fn hints(
    prepared: &PreparedExperiment,
    registry: &Registry,
    plays: bool,
) -> Result<Vec<String>, Failure> {
    let experiment = &prepared.loaded.experiment;
    let mut hints = Vec::new();
    let name = &experiment.application.workload;
    if registry.find(name, None)?.is_model() && !plays {
        hints.push(format!(
            "{name} is a model: it charges for computations that it does not execute, so it takes no time on real hosts, \
             and a slow host is as fast as the others; `up --play -- run FILE` plays what it charges"
        ));
    }
    let policy = experiment.scheduler.policy.as_ref();
    let moves_between_sets = policy.is_some_and(|policy| !policy.names_processors())
        && scenario(prepared) == Scenario::Iii
        && prepared.script.is_none();
    if moves_between_sets && prepared.platform.sets().len() == 1 {
        let policy = &experiment.scheduler.policy_name();
        hints.push(format!(
            "the policy {policy} moves processes between Sets alone, and there is one Set: no process will move; try \
             `--policy adaptive`, or hosts in several Sets"
        ));
    }
    Ok(hints)
}

#[cfg(test)]
mod tests {
    use experiments::load_text_for_cluster;
    use experiments::submission::request;
    use protocol::Member;

    use super::*;

    /// The hints about the experiment in `text` on two hosts in these Sets.
    fn hinted(text: &str, sets: [&str; 2], plays: bool) -> Vec<String> {
        let registry = Registry::shipped();
        let loaded = load_text_for_cluster(text, "the test", &registry).unwrap();
        let members = [("a", sets[0]), ("b", sets[1])].map(|(name, set)| Member {
            name: name.to_owned(),
            address: String::new(),
            set: set.to_owned(),
            slots: 1,
            speed: 1.0,
        });
        let (prepared, _) = request(&loaded, &members, &registry, false, plays).unwrap();
        hints(&prepared, &registry, plays).unwrap()
    }

    #[test]
    fn models_and_policies_that_cannot_move_are_named_and_adaptive_is_the_default() {
        let of = |workload: &str, more: &str| {
            format!(
                "[application]\nworkload = \"{workload}\"\nprocesses = 4\nsupersteps = 8\n{more}"
            )
        };
        let (one, two) = (["x", "x"], ["x", "y"]);
        let none: [String; 0] = [];
        assert_eq!(hinted(&of("heat", ""), one, false), none);
        let model = hinted(&of("synthetic", ""), one, false);
        assert_eq!(model.len(), 1);
        assert!(
            model[0].starts_with("synthetic is a model: ") && model[0].contains("up --play"),
            "{model:?}"
        );
        assert_eq!(hinted(&of("synthetic", ""), one, true), none);
        let paper = of("heat", "[scheduler]\npolicy = \"migbsp\"");
        let still = hinted(&paper, one, false);
        assert!(
            still.len() == 1 && still[0].contains("between Sets alone, and there is one Set"),
            "{still:?}"
        );
        assert_eq!(hinted(&paper, two, false), none);
        // What does not move processes anyway needs no hint.
        for scheduler in [
            "policy = \"none\"",
            "policy = \"migbsp\"\nscenario = \"ii\"",
        ] {
            assert_eq!(
                hinted(
                    &of("heat", &format!("[scheduler]\n{scheduler}")),
                    one,
                    false
                ),
                none
            );
        }
    }
}
