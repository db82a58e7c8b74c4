//! `--policy`: a policy and the parameters it is to have.

use std::str::FromStr;

use crate::configuration::{Scenario, scheduler};

/// A policy that takes part.
///
/// Invariant: the policy exists, and its parameters do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Contender {
    /// As it was written, without spaces.
    pub(crate) label: String,
    /// What is run: i for nobody, else iii unless its parameters say otherwise.
    pub(crate) scenario: Scenario,
    /// What it changes of an experiment: `section.key=value`.
    pub(crate) assignments: Vec<String>,
}

impl FromStr for Contender {
    type Err = String;

    /// Reads `NAME` or `NAME:KEY=VALUE,KEY=VALUE`, the keys being those of `[scheduler]`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, parameters) = match text.split_once(':') {
            None => (text.trim(), None),
            Some((name, parameters)) => (name.trim(), Some(parameters)),
        };
        let mut label = name.to_owned();
        let mut assignments = vec![
            format!("scheduler.policy={name}"),
            "scheduler.scenario=iii".to_owned(),
            "scheduler.script=[]".to_owned(),
        ];
        let parameters = parameters.map(|list| list.split(',').collect::<Vec<_>>());
        for (place, parameter) in parameters.iter().flatten().enumerate() {
            let (key, value) = assignment(parameter.trim())?;
            assignments.push(format!("scheduler.{key}={value}"));
            label.push(if place == 0 { ':' } else { ',' });
            label.push_str(&format!("{key}={value}"));
        }
        let options = scheduler(&assignments)
            .map_err(|fault| {
                let key = fault.key.strip_prefix("scheduler.").unwrap_or(&fault.key);
                format!("{key}: {}", fault.problem)
            })?
            .options;
        if options.policy.0.is_none() && parameters.is_some() {
            return Err("with `none` nobody reschedules: it has no parameters".to_owned());
        }
        let [scenario] = options.scenario.runs(options.policy) else {
            return Err("scenario: a comparison needs one, `i`, `ii` or `iii`".to_owned());
        };
        Ok(Self {
            label,
            scenario: *scenario,
            assignments,
        })
    }
}

/// Key and value of `KEY=VALUE`.
fn assignment(parameter: &str) -> Result<(&str, &str), String> {
    let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
    let (key, value) = (key.trim(), value.trim());
    if key.is_empty() || value.is_empty() {
        let expected = "expected KEY=VALUE, as in migbsp:interval=8,x=0.9";
        return Err(format!("met `{parameter}`, {expected}"));
    }
    match key {
        "policy" => Err("policy: its name stands before the colon".to_owned()),
        "script" => Err("script: a policy decides who moves".to_owned()),
        _ => Ok((key, value)),
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
                "scheduler.policy=migbsp",
                "scheduler.scenario=iii",
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
    fn what_is_no_policy_or_parameter_says_what_would_do() {
        let check = |text: &str, expected: &str| {
            let fault = text.parse::<Contender>().unwrap_err();
            assert!(fault.contains(expected), "{fault}");
        };
        check("migbps", "did you mean `migbsp`?");
        check("", "which is no policy");
        check(
            "migbsp:intervall=8",
            "intervall: unknown key; did you mean `interval`?",
        );
        check("migbsp:interval=0", "interval: met 0");
        check("migbsp:interval=soon", "interval: ");
        check("migbsp:planning.horizn=3", "did you mean `horizon`?");
        check("migbsp:planning.horizon=0.5", "planning.horizon: met 0.5");
        check("migbsp:interval", "expected KEY=VALUE");
        check("migbsp:", "expected KEY=VALUE");
        check("migbsp:policy=none", "before the colon");
        check("migbsp:script=[]", "a policy decides");
        check("migbsp:scenario=all", "a comparison needs one");
        check("none:interval=4", "has no parameters");
    }
}
