//! What several commands have in common in their arguments.

use std::num::NonZero;

use analysis::compare::Contender;
use clap::Args;
use migbsp::Policies;

/// Values of an experiment that are changed.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Overrides {
    /// Number of processes [default: from the experiment]
    #[arg(short = 'n', long = "np", value_name = "N")]
    processes: Option<u32>,
    /// Seed of random numbers [default: from the experiment]
    #[arg(long, value_name = "SEED")]
    seed: Option<u64>,
    /// Policy, with parameters of [scheduler] [default: from the experiment]
    #[arg(long, value_name = "NAME[:KEY=VALUE,...]")]
    policy: Option<Contender>,
    /// Value to set in the experiment; can be given several times
    #[arg(long, value_name = "SECTION.KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

impl Overrides {
    /// All of them as `section.key=value`; an option of its own overrides `--set`.
    pub(crate) fn assignments(&self) -> Vec<String> {
        let mut all = self.set.clone();
        let processes = self.processes.iter();
        all.extend(processes.map(|number| format!("application.processes={number}")));
        all.extend(self.seed.iter().map(|seed| format!("run.seed={seed}")));
        if let Some(policy) = &self.policy {
            all.extend(policy.written.iter().cloned());
        }
        all
    }

    /// The arguments with which `compare` runs the same experiment: it has seeds and policies of its own.
    pub(crate) fn of_comparison(&self) -> String {
        let all = self.assignments();
        let is_compared = |assignment: &&String| {
            let key = assignment.split('=').next().unwrap_or_default().trim();
            let decided = ["run.seed", "scheduler.policy", "scheduler.scenario"];
            key != "scheduler.script" && !decided.contains(&key)
        };
        let quoted = |assignment: &String| {
            let is_plain = |character: char| {
                character.is_ascii_alphanumeric() || "-_.=:/+,".contains(character)
            };
            if assignment.chars().all(is_plain) {
                format!(" --set {assignment}")
            } else {
                format!(" --set '{}'", assignment.replace('\'', "'\\''"))
            }
        };
        all.iter().filter(is_compared).map(quoted).collect()
    }
}

/// What `--trace` sets.
pub(crate) const TRACED: &str = "run.trace=true";

/// `--jobs`.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct JobsArguments {
    /// Number of threads [default: one per core]
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65536))]
    jobs: Option<u32>,
}

impl JobsArguments {
    /// The number of threads; `None`: one per core.
    #[must_use]
    pub fn threads(self) -> Option<NonZero<usize>> {
        NonZero::new(usize::try_from(self.jobs?).unwrap_or(usize::MAX))
    }
}

/// Takes `-1` after an option for its value, so that the value's parser reports the error.
pub(crate) fn taking_negative_numbers(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|argument| {
        let is_option = !argument.is_positional() && argument.get_action().takes_values();
        argument.allow_negative_numbers(is_option)
    });
    command.mut_subcommands(taking_negative_numbers)
}

/// Reads `--policy` of all commands as one of `policies`.
pub(crate) fn knowing_policies(command: clap::Command, policies: &Policies) -> clap::Command {
    let known = policies.clone();
    let command = command.mut_args(move |argument| {
        if argument.get_long() != Some("policy") {
            return argument;
        }
        let known = known.clone();
        argument.value_parser(move |text: &str| Contender::new(text, &known))
    });
    command.mut_subcommands(|subcommand| knowing_policies(subcommand, policies))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_of_its_own_overrides_set() {
        let overrides = Overrides {
            processes: Some(8),
            seed: Some(3),
            policy: Some("adaptive:planning.horizon=20".parse().unwrap()),
            set: vec!["run.seed=1".to_owned(), "scheduler.interval=5 s".to_owned()],
        };
        let expected = [
            "run.seed=1",
            "scheduler.interval=5 s",
            "application.processes=8",
            "run.seed=3",
            "scheduler.policy=adaptive",
            "scheduler.script=[]",
            "scheduler.planning.horizon=20",
        ];
        assert_eq!(overrides.assignments(), expected);
        assert_eq!(
            overrides.of_comparison(),
            " --set 'scheduler.interval=5 s' --set application.processes=8 \
             --set scheduler.planning.horizon=20"
        );
        assert_eq!(Overrides::default().assignments(), [""; 0]);
    }
}
