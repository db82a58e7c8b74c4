//! `scheduler.policy`: the policy, by name.

use migbsp::{Policies, Policy, PolicyError};

use settings::list;
use settings::nearest;

/// The policy that `text` names; `None`: no rescheduling, scenario i alone.
///
/// # Errors
///
/// The part that is not known, with the names that are.
pub(crate) fn policy(text: &str, policies: &Policies) -> Result<Option<Policy>, String> {
    if text == NONE {
        return Ok(None);
    }
    match policies.policy(text) {
        Ok(policy) => Ok(Some(policy)),
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
        Err(error) => Err(error.to_string()),
    }
}

/// The name of a policy as [`policy`] reads it.
pub(crate) fn name(policy: Option<&Policy>) -> String {
    policy.map_or_else(|| NONE.to_owned(), ToString::to_string)
}

const NONE: &str = "none";
const PARTS: &str = ", or when+plan+gate, such as menon+greedy-refine+amortised";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_name_parses_to_itself() {
        let policies = Policies::shipped();
        for text in [
            "none",
            "migbsp",
            "fixed+migbsp",
            "menon+greedy-refine",
            "migbsp-interval+greedy-refine+amortised",
        ] {
            let read = policy(text, &policies).unwrap();
            assert_eq!(name(read.as_ref()), text);
        }
    }

    #[test]
    fn an_unknown_name_gets_a_suggestion() {
        let fault = |text: &str| policy(text, &Policies::shipped()).unwrap_err();
        let unknown = fault("migbps");
        assert!(unknown.contains("did you mean `migbsp`?"), "{unknown}");
        assert!(unknown.contains("when+plan+gate"), "{unknown}");
        let plan = fault("fixed+greedyrefine");
        assert!(
            plan.contains("unknown plan") && plan.contains("; did you mean `greedy-refine`?"),
            "{plan}"
        );
        assert!(fault("a+b+c+d").contains("two or three parts"));
        assert!(fault("budgeted+migbsp").contains("only plans that name processors"));
        assert!(fault("fixed+migbsp+amortised").contains("negotiate"));
    }
}
