//! Algorithms that look for an assignment, and their parameters.

use std::fmt;
use std::str::FromStr;

use model::rebalance::{Budget, Exchanges, Penalised, Problem, SearchResult, Thresholds, Variant};
use rebalancing_algorithms::{Method, Opt, Partition};
use settings::{Named, list, nearest};

/// A search algorithm.
#[derive(Clone, Debug, PartialEq)]
pub struct Algorithm {
    /// The text of the argument.
    label: String,
    search: Search,
}

/// An algorithm with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Search {
    /// Without parameters.
    Method(Method),
    /// IMLP, ISLP and MLP.
    Variant(Variant),
    /// MPARV.
    Partition(Partition),
}

impl Algorithm {
    /// The result for `problem` and `target`.
    pub fn search(
        &self,
        problem: &Problem,
        target: f64,
        budget: Budget<'_>,
        seed: u64,
    ) -> SearchResult {
        match &self.search {
            Search::Method(method) => method.search(problem, target, budget, seed),
            Search::Variant(variant) => variant.search(problem, target, budget),
            Search::Partition(partition) => partition.search(problem, target, budget),
        }
    }
}

impl From<Method> for Algorithm {
    fn from(method: Method) -> Self {
        Self {
            label: method.to_string(),
            search: Search::Method(method),
        }
    }
}

/// The text of the argument.
impl fmt::Display for Algorithm {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.label)
    }
}

impl FromStr for Algorithm {
    type Err = String;

    /// Reads `NAME` or `NAME:KEY=VALUE,KEY=VALUE`.
    fn from_str(text: &str) -> Result<Self, String> {
        let Named { name, parameters } = Named::read(text, "imlp:levels=3,gamma=4")?;
        let method = method(name)?;
        if parameters.is_empty() {
            return Ok(Self::from(method));
        }
        let local = |base: Variant| {
            let variant = parameters.iter().copied().try_fold(base, with)?;
            Ok::<_, String>(Search::Variant(variant))
        };
        let search = match method {
            Method::Imlp => local(Variant::IMLP)?,
            Method::Islp => local(Variant::ISLP)?,
            Method::Mlp => local(Variant::MLP)?,
            Method::Mparv => {
                let base = Partition::default();
                let partition = parameters.iter().copied().try_fold(base, with_opt)?;
                Search::Partition(partition)
            }
            Method::Tabu | Method::Refine | Method::Hyb | Method::Best => {
                return Err(format!(
                    "`{name}` has no parameters; `imlp`, `islp` and `mlp` have {}, and `mparv` has \
                     {}",
                    list(&KEYS),
                    list(&KEYS_MPARV)
                ));
            }
        };
        Ok(Self {
            label: text.trim().to_owned(),
            search,
        })
    }
}

/// The method that `text` names.
fn method(text: &str) -> Result<Method, String> {
    text.parse().map_err(|_| {
        let names: Vec<String> = Method::ALL.iter().map(ToString::to_string).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let hint = nearest(text, &names).map_or_else(String::new, |nearest| {
            format!("; did you mean `{nearest}`?")
        });
        format!(
            "unknown algorithm `{text}`, must be one of {}{hint}",
            names.join(", ")
        )
    })
}

/// `variant` with the parameter `key`.
fn with(mut variant: Variant, (key, value): (&str, &str)) -> Result<Variant, String> {
    let refused = |expected: &str| invalid(key, value, expected);
    match key {
        "levels" => {
            let levels = value.parse().ok();
            variant.levels = levels
                .filter(|levels| (1..=LEVELS_MAX).contains(levels))
                .ok_or_else(|| refused(&format!("a whole number from 1 to {LEVELS_MAX}")))?;
        }
        "thresholds" => {
            variant.thresholds = thresholds(value).ok_or_else(|| {
                refused("`crs2` (or another ratio above 1, as `crs1.5`), `as` or `count`")
            })?;
        }
        "penalisation" => {
            variant.penalised = match value {
                "full" => Penalised::Full,
                "limit" => Penalised::Limit,
                "none" => Penalised::None,
                _ => return Err(refused("`full`, `limit` or `none`")),
            };
        }
        "exchanges" => {
            variant.exchanges = match value {
                "always" => Exchanges::Always,
                "needed" => Exchanges::Needed,
                _ => return Err(refused("`always` or `needed`")),
            };
        }
        "gamma" => {
            let gamma = value.parse().ok();
            variant.gamma = gamma
                .filter(|gamma| (0.0..=GAMMA_MAX).contains(gamma))
                .ok_or_else(|| {
                    refused(&format!(
                        "a number from 0 to {GAMMA_MAX:e}, in units of level"
                    ))
                })?;
        }
        _ => return Err(unknown(key, &KEYS)),
    }
    Ok(variant)
}

/// `partition` with the parameter `key`.
fn with_opt(mut partition: Partition, (key, value): (&str, &str)) -> Result<Partition, String> {
    if key != KEYS_MPARV[0] {
        return Err(unknown(key, &KEYS_MPARV));
    }
    partition.opt = match value {
        "level" => Opt::Level,
        "workload" => Opt::Workload,
        _ => return Err(invalid(key, value, "`level` or `workload`")),
    };
    Ok(partition)
}

fn invalid(key: &str, value: &str, expected: &str) -> String {
    format!("invalid value `{value}` for `{key}`: must be {expected}")
}

fn unknown(key: &str, keys: &[&str]) -> String {
    match nearest(key, keys) {
        Some(nearest) => format!("unknown key `{key}`; did you mean `{nearest}`?"),
        None => format!("unknown key `{key}`, must be one of {}", list(keys)),
    }
}

fn thresholds(text: &str) -> Option<Thresholds> {
    match text {
        "as" => Some(Thresholds::Arithmetic),
        "count" => Some(Thresholds::Count),
        _ => {
            let ratio: f64 = text.strip_prefix("crs")?.parse().ok()?;
            let is_ratio = 1.0 < ratio && ratio <= RATIO_MAX;
            is_ratio.then_some(Thresholds::CommonRatio(ratio))
        }
    }
}

const KEYS: [&str; 5] = ["levels", "thresholds", "penalisation", "gamma", "exchanges"];
const KEYS_MPARV: [&str; 1] = ["opt"];

/// More make no difference.
const LEVELS_MAX: u32 = 1000;
const RATIO_MAX: f64 = 1e6;
const GAMMA_MAX: f64 = 1e15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_algorithm_may_have_parameters() {
        let read = |text: &str| text.parse::<Algorithm>().unwrap();
        for method in Method::ALL {
            assert_eq!(read(&method.to_string()), Algorithm::from(method));
        }
        let algorithm = read(" imlp:levels=3, thresholds=crs1.5,penalisation=limit,gamma=0.25");
        let expected = Variant {
            levels: 3,
            thresholds: Thresholds::CommonRatio(1.5),
            penalised: Penalised::Limit,
            gamma: 0.25,
            ..Variant::IMLP
        };
        assert_eq!(algorithm.search, Search::Variant(expected));
        let expected = Variant {
            gamma: 2.0,
            ..Variant::MLP
        };
        assert_eq!(read("mlp:gamma=2").search, Search::Variant(expected));
        for (text, opt) in [
            ("mparv:opt=level", Opt::Level),
            ("mparv:opt=workload", Opt::Workload),
        ] {
            assert_eq!(read(text).search, Search::Partition(Partition { opt }));
        }
    }

    #[test]
    fn an_unknown_algorithm_or_parameter_is_refused() {
        for (text, words) in [
            ("impl", "did you mean `imlp`?"),
            ("", "unknown algorithm ``, must be one of imlp, "),
            ("tabu:levels=3", "`tabu` has no parameters"),
            ("tabu:levels=3", "and `mparv` has `opt`"),
            (
                "mparv:opt=capacity",
                "for `opt`: must be `level` or `workload`",
            ),
            ("mparv:otp=level", "did you mean `opt`?"),
            ("mparv:levels=3", "must be one of `opt`"),
            ("imlp:", "must be KEY=VALUE"),
            ("imlp:,", "must be KEY=VALUE"),
            ("imlp:levels", "must be KEY=VALUE"),
            ("imlp:level=3", "did you mean `levels`?"),
            ("imlp:colour=3", "must be one of `levels`, "),
            ("imlp:levels=0", "must be a whole number from 1"),
            ("imlp:levels=1.5", "must be a whole number from 1"),
            ("imlp:thresholds=crs1", "ratio above 1"),
            ("imlp:thresholds=crsinf", "ratio above 1"),
            ("imlp:thresholds=crs", "ratio above 1"),
            ("imlp:penalisation=half", "`full`, `limit` or `none`"),
            ("imlp:exchanges=never", "`always` or `needed`"),
            ("imlp:gamma=-1", "from 0 to 1e"),
            ("imlp:gamma=nan", "from 0 to 1e"),
            ("imlp:levels=3, levels =4", "levels: given twice, as `3`"),
        ] {
            let fault = text.parse::<Algorithm>().unwrap_err();
            assert!(fault.contains(words), "{text}: {fault}");
        }
    }
}
