//! `--policy`: a policy with its parameters.

use std::str::FromStr;

use migbsp::Policies;

use experiments::Scenario;
use experiments::scheduler;
use settings::Named;

/// A policy that is compared.
///
/// Invariant: the policy exists, and its parameters do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contender {
    /// The text of the argument, without spaces.
    pub label: String,
    /// The scenario that is run: i for `none`, otherwise iii unless a parameter sets it.
    pub scenario: Scenario,
    /// Its changes to an experiment: `section.key=value`.
    pub assignments: Vec<String>,
    /// The same without the scenario, unless the text names it: what a simulation of all scenarios is given.
    pub written: Vec<String>,
}

impl Contender {
    /// Reads `NAME` or `NAME:KEY=VALUE,KEY=VALUE`, the keys being those of `[scheduler]`; `NAME` is one of `policies`.
    ///
    /// # Errors
    ///
    /// The first name or parameter that is invalid.
    pub fn new(text: &str, policies: &Policies) -> Result<Self, String> {
        let Named { name, parameters } = Named::read(text, "migbsp:interval=8,x=0.9")?;
        let mut label = name.to_owned();
        let mut written = vec![
            format!("scheduler.policy={name}"),
            "scheduler.script=[]".to_owned(),
        ];
        for (place, (key, value)) in parameters.iter().enumerate() {
            check(key)?;
            written.push(format!("scheduler.{key}={value}"));
            label.push(if place == 0 { ':' } else { ',' });
            label.push_str(&format!("{key}={value}"));
        }
        let mut assignments = vec!["scheduler.scenario=iii".to_owned()];
        assignments.extend(written.iter().cloned());
        let scheduler = scheduler(&assignments, policies).map_err(|fault| {
            // The keys of a contender are those of the section.
            let message = fault.message.replacen("`scheduler.", "`", 1);
            let help = fault.help.map(|help| format!("; {help}"));
            message + &help.unwrap_or_default()
        })?;
        let policy = scheduler.policy.as_ref();
        if policy.is_none() && !parameters.is_empty() {
            return Err("the policy `none` has no parameters".to_owned());
        }
        let [scenario] = scheduler.scenario.runs(policy) else {
            return Err("scenario: must be one of `i`, `ii`, `iii`".to_owned());
        };
        Ok(Self {
            label,
            scenario: *scenario,
            assignments,
            written,
        })
    }
}

impl FromStr for Contender {
    type Err = String;

    /// Reads a policy made of shipped rules; commands know those of their binary, too.
    fn from_str(text: &str) -> Result<Self, String> {
        Self::new(text, &Policies::shipped())
    }
}

/// Refuses keys that a contender cannot set.
fn check(key: &str) -> Result<(), String> {
    match key {
        "policy" => Err("policy: write its name before the colon".to_owned()),
        "script" => Err("script: the policy decides which processes move".to_owned()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_may_have_parameters() {
        let contender: Contender = " migbsp : interval = 8, planning.horizon=20 "
            .parse()
            .unwrap();
        assert_eq!(contender.label, "migbsp:interval=8,planning.horizon=20");
        assert_eq!(contender.scenario, Scenario::Iii);
        assert_eq!(
            contender.assignments,
            [
                "scheduler.scenario=iii",
                "scheduler.policy=migbsp",
                "scheduler.script=[]",
                "scheduler.interval=8",
                "scheduler.planning.horizon=20",
            ]
        );
        let scenario = |text: &str| text.parse::<Contender>().unwrap().scenario;
        assert_eq!(scenario("none"), Scenario::I);
        assert_eq!(scenario("migbsp:scenario=ii"), Scenario::Ii);
    }

    #[test]
    fn an_unknown_policy_or_parameter_is_refused() {
        let check = |text: &str, expected: &str| {
            let fault = text.parse::<Contender>().unwrap_err();
            assert!(fault.contains(expected), "{fault}");
        };
        check("migbps", "did you mean `migbsp`?");
        check("", "unknown policy");
        check(
            "migbsp:intervall=8",
            "unknown key `intervall`; did you mean `interval`?",
        );
        check(
            "migbsp:interval=0",
            "invalid value `0` for `interval`: must be at least 1",
        );
        check(
            "migbsp:interval=soon",
            "invalid value `\"soon\"` for `interval`",
        );
        check("migbsp:planning.horizn=3", "did you mean `horizon`?");
        check(
            "migbsp:planning.horizon=0.5",
            "invalid value `0.5` for `planning.horizon`",
        );
        check("migbsp:interval", "must be KEY=VALUE");
        check("migbsp:", "must be KEY=VALUE");
        check(
            "migbsp:interval=4,x=0.9,interval=8",
            "interval: given twice, as `4` and as `8`",
        );
        check("migbsp:policy=none", "before the colon");
        check("migbsp:script=[]", "the policy decides");
        check("migbsp:scenario=all", "must be one of");
        check("none:interval=4", "has no parameters");
    }
}
