//! `scheduler.policy`: the name of a policy.

use std::fmt;
use std::str::FromStr;

use migbsp::{Policy, PolicyError};
use serde::{Deserialize, Serialize};

use crate::configuration::fault::{list, nearest};

/// A policy, or none: only scenario i is run then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct PolicyName(pub(crate) Option<Policy>);

impl FromStr for PolicyName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == NONE {
            return Ok(Self(None));
        }
        match text.parse() {
            Ok(policy) => Ok(Self(Some(policy))),
            Err(PolicyError::Unknown {
                name,
                kind,
                mut names,
            }) => {
                if kind == "policy" {
                    names.insert(0, NONE);
                }
                let hint = nearest(&name, &names).map_or_else(String::new, |nearest| {
                    format!("; did you mean `{nearest}`?")
                });
                Err(format!(
                    "unknown {kind} `{name}`, must be one of {}{}{hint}",
                    list(&names),
                    if kind == "policy" { PARTS } else { "" },
                ))
            }
            Err(
                error
                @ (PolicyError::Parts(_) | PolicyError::Negotiated | PolicyError::Unspaced(_)),
            ) => Err(error.to_string()),
        }
    }
}

impl TryFrom<String> for PolicyName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<PolicyName> for String {
    fn from(name: PolicyName) -> Self {
        name.to_string()
    }
}

impl fmt::Display for PolicyName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            None => formatter.write_str(NONE),
            Some(policy) => policy.fmt(formatter),
        }
    }
}

const NONE: &str = "none";
const PARTS: &str = ", or when+plan+gate, such as menon+greedy-refine+amortised";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_name_parses_to_itself() {
        for text in [
            "none",
            "migbsp",
            "fixed+migbsp",
            "menon+greedy-refine",
            "migbsp-interval+greedy-refine+amortised",
        ] {
            let policy: PolicyName = text.parse().unwrap();
            assert_eq!(policy.to_string(), text);
        }
    }

    #[test]
    fn an_unknown_policy_suggests_the_nearest() {
        let fault = |text: &str| text.parse::<PolicyName>().unwrap_err();
        let unknown = fault("migbps");
        assert!(unknown.contains("did you mean `migbsp`?"), "{unknown}");
        assert!(unknown.contains("when+plan+gate"), "{unknown}");
        let plan = fault("fixed+greedyrefine");
        assert!(
            plan.contains("unknown plan") && plan.contains("; did you mean `greedy-refine`?"),
            "{plan}"
        );
        assert!(fault("a+b+c+d").contains("two or three parts"));
        assert!(fault("watchful+migbsp").contains("only plans that name processors"));
        assert!(fault("fixed+migbsp+amortised").contains("negotiate"));
    }
}
