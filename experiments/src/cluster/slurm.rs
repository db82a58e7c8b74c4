//! Slurm's description of a job: its hosts, and its share of each.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use winnow::ascii::digit1;
use winnow::combinator::{alt, cut_err, delimited, opt, preceded, repeat, separated, terminated};
use winnow::error::ContextError;
use winnow::token::take_while;
use winnow::{ModalParser, ModalResult, Parser};

/// A component of a job: all of it, unless the job is heterogeneous.
#[derive(Debug, PartialEq)]
pub(super) struct Component {
    /// The variable that names its hosts.
    pub(super) variable: String,
    /// Its number in a heterogeneous job.
    pub(super) number: Option<usize>,
    /// Hosts and their slots.
    pub(super) hosts: Vec<(String, u32)>,
}

/// A variable, and its error.
pub(super) type Problem = (String, String);

/// The components of the job that the environment names; none if it names none.
///
/// The hosts are those of the job. Those of a step count where a job is not named: the shell of `salloc` is a step on one of the hosts.
///
/// Slots are the processors that the job has on each host, else the tasks of each host, else one.
/// Processors come first, because `srun` starts one of us per host, which is one task.
pub(super) fn components(
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Vec<Component>, Problem> {
    let size = variable(HET_SIZE).map(|text| {
        let size = text.trim().parse().ok();
        let size = size.filter(|size| (1..=COMPONENTS_MAX).contains(size));
        size.ok_or_else(|| {
            let rule = format!("must be a number from 1 to {COMPONENTS_MAX}");
            (
                HET_SIZE.to_owned(),
                format!("invalid value {text:?}, {rule}"),
            )
        })
    });
    if let Some(size) = size.transpose()?.filter(|size| 1 < *size) {
        let components = (0..size).map(|number| {
            let name = |of: &str| format!("{of}_HET_GROUP_{number}");
            let names = (name(JOB), name(PROCESSORS), name(TASKS));
            let component = component(&variable, names, Some(number))?;
            component.ok_or_else(|| {
                let expected = format!("the hosts of component {number} of {size}");
                (name(JOB), format!("is not set, expected {expected}"))
            })
        });
        return components.collect();
    }
    let named = [JOB, STEP].map(|list| (list.to_owned(), PROCESSORS.to_owned(), TASKS.to_owned()));
    for names in named {
        if let Some(component) = component(&variable, names, None)? {
            return Ok(vec![component]);
        }
    }
    Ok(Vec::new())
}

/// A step on other hosts than those of its job, of which those of the job count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedStep {
    /// The hosts of the job, as Slurm writes them.
    pub job: String,
    /// Those of the step.
    pub step: String,
    /// Whether the step is the shell of an interactive job.
    pub is_shell: bool,
}

/// The step that we are in, if it has other hosts than its job.
pub(super) fn passed_step(variable: impl Fn(&str) -> Option<String>) -> Option<PassedStep> {
    let (job, step) = (variable(JOB)?, variable(STEP)?);
    let sorted = |list: &str| hostlist(list).ok().map(BTreeSet::from_iter);
    let is_other = sorted(&job)? != sorted(&step)?;
    let is_heterogeneous = variable(HET_SIZE).is_some_and(|size| size.trim() != "1");
    (is_other && !is_heterogeneous).then(|| PassedStep {
        is_shell: variable(STEP_ID).as_deref() == Some(SHELL),
        job,
        step,
    })
}

/// The component whose hosts, processors and tasks these variables say; `None` if it has no hosts.
fn component(
    variable: impl Fn(&str) -> Option<String>,
    (list, processors, tasks): (String, String, String),
    number: Option<usize>,
) -> Result<Option<Component>, Problem> {
    let Some(names) = variable(&list) else {
        return Ok(None);
    };
    let names = hostlist(&names).map_err(|problem| (list.clone(), problem))?;
    let counted = |of: String| {
        let numbers = variable(&of).map(|text| counted(&text, &names));
        numbers.transpose().map_err(|problem| (of, problem))
    };
    let slots = match counted(processors)? {
        Some(slots) => slots,
        None => counted(tasks)?.unwrap_or_default(),
    };
    let slots = |name: &String| slots.get(name).copied().unwrap_or(1);
    Ok(Some(Component {
        hosts: names
            .iter()
            .map(|name| (name.clone(), slots(name)))
            .collect(),
        variable: list,
        number,
    }))
}

/// Which host has how many, from numbers that stand in the order of `hosts`.
fn counted(text: &str, hosts: &[String]) -> Result<BTreeMap<String, u32>, String> {
    let numbers = counts(text)?;
    let (found, expected) = (numbers.len(), hosts.len());
    if found != expected {
        return Err(format!(
            "{text:?} is about {found} hosts, expected {expected}"
        ));
    }
    Ok(hosts.iter().cloned().zip(numbers).collect())
}

/// The number of components of a heterogeneous job.
const HET_SIZE: &str = "SLURM_HET_SIZE";

/// More components than Slurm has.
const COMPONENTS_MAX: usize = 1024;

/// The hosts of the step that we are in.
const STEP: &str = "SLURM_STEP_NODELIST";

/// The number of the step that we are in.
const STEP_ID: &str = "SLURM_STEP_ID";

/// The number of the step that is the shell of an interactive job.
const SHELL: &str = "4294967290";

/// The hosts of the whole job.
pub(super) const JOB: &str = "SLURM_JOB_NODELIST";

/// Number of processors of the job on each of its hosts.
const PROCESSORS: &str = "SLURM_JOB_CPUS_PER_NODE";

/// Number of tasks of each host.
const TASKS: &str = "SLURM_TASKS_PER_NODE";

/// The hosts of `text`, in the order in which `scontrol show hostnames` prints them.
fn hostlist(text: &str) -> Result<Vec<String>, String> {
    let hosts: Vec<Vec<Part<'_>>> = list(host).parse(text).map_err(|error| {
        let rest: String = text[error.offset()..].chars().take(SHOWN).collect();
        let expected = "expected hosts as in `n[001-003,7],m-1`, ranges ascending";
        if rest.is_empty() {
            format!("ends too early; {expected}")
        } else {
            format!("invalid text {rest:?}; {expected}")
        }
    })?;
    let number = |host: &Vec<Part<'_>>| host.iter().map(Part::len).fold(1, u64::saturating_mul);
    let found = hosts.iter().map(number).fold(0, u64::saturating_add);
    if usize::try_from(found).map_or(true, |found| HOSTS_MAX < found) {
        return Err(format!("{found} hosts, expected at most {HOSTS_MAX}"));
    }
    Ok(hosts.iter().flat_map(|host| expanded(host)).collect())
}

/// A part of a name.
#[derive(Clone, Debug)]
enum Part<'a> {
    Text(&'a str),
    Numbers(Vec<Numbers>),
}

/// Numbers in order, each with zeros in front up to a width.
#[derive(Clone, Debug)]
struct Numbers {
    range: RangeInclusive<u64>,
    width: usize,
}

impl Part<'_> {
    /// Number of texts that it stands for.
    fn len(&self) -> u64 {
        match self {
            Self::Text(_) => 1,
            Self::Numbers(numbers) => numbers
                .iter()
                .map(|Numbers { range, .. }| range.end() - range.start() + 1)
                .fold(0, u64::saturating_add),
        }
    }
}

/// All names; the last brackets count fastest.
fn expanded(host: &[Part<'_>]) -> Vec<String> {
    let mut names = vec![String::new()];
    for part in host {
        names = match part {
            Part::Text(text) => names.iter().map(|name| format!("{name}{text}")).collect(),
            Part::Numbers(numbers) => {
                let endings: Vec<String> = numbers.iter().flat_map(Numbers::texts).collect();
                let followed = |name: &String| {
                    let name = name.clone();
                    endings.iter().map(move |ending| format!("{name}{ending}"))
                };
                names.iter().flat_map(followed).collect()
            }
        };
    }
    names
}

impl Numbers {
    fn texts(&self) -> impl Iterator<Item = String> {
        let width = self.width;
        self.range
            .clone()
            .map(move |number| format!("{number:0width$}"))
    }
}

fn host<'a>(input: &mut &'a str) -> ModalResult<Vec<Part<'a>>> {
    let text = take_while(1..=NAME_MAX, |character: char| {
        character.is_ascii_graphic() && !"[],".contains(character)
    });
    let brackets = preceded('[', cut_err(terminated(list(numbers), ']')));
    let part = alt((text.map(Part::Text), brackets.map(Part::Numbers)));
    repeat(1..=PARTS_MAX, part).parse_next(input)
}

/// One or more of `item` with commas between. Behind a comma there is no way back, so that an error
/// has its position in the list.
fn list<'a, Item>(
    mut item: fn(&mut &'a str) -> ModalResult<Item>,
) -> impl ModalParser<&'a str, Vec<Item>, ContextError> {
    move |input: &mut &'a str| {
        let mut items = vec![item.parse_next(input)?];
        while opt(',').parse_next(input)?.is_some() {
            items.push(cut_err(item).parse_next(input)?);
        }
        Ok(items)
    }
}

fn numbers(input: &mut &str) -> ModalResult<Numbers> {
    let width = |digits: &&str| digits.len() <= DIGITS_MAX;
    (
        digit1.verify(width),
        opt(preceded('-', digit1.verify(width))),
    )
        .verify_map(|(low, high): (&str, Option<&str>)| {
            let range = low.parse().ok()?..=high.unwrap_or(low).parse().ok()?;
            let width = low.len();
            (range.start() <= range.end()).then_some(Numbers { range, width })
        })
        .parse_next(input)
}

/// Maximum length of a name.
const NAME_MAX: usize = 253;

/// Texts and brackets that a name is made of, at most.
const PARTS_MAX: usize = 16;

/// Maximum digits of a number.
const DIGITS_MAX: usize = 18;

/// How much of a list an error shows.
const SHOWN: usize = 40;

/// More hosts than in any cluster; a list may be short and name billions.
const HOSTS_MAX: usize = 65_536;

/// The numbers of `text`, one per host.
fn counts(text: &str) -> Result<Vec<u32>, String> {
    let runs: Vec<(u32, usize)> = separated(1.., run, ',').parse(text).map_err(|_| {
        format!("invalid value {text:?}, must be a number per host, from 1 on, as in `4(x3),2`")
    })?;
    let found = runs
        .iter()
        .fold(0, |sum: usize, run| sum.saturating_add(run.1));
    if HOSTS_MAX < found {
        return Err(format!("{found} hosts, expected at most {HOSTS_MAX}"));
    }
    let numbers = runs.into_iter();
    Ok(numbers
        .flat_map(|(number, hosts)| std::iter::repeat_n(number, hosts))
        .collect())
}

/// A number, and the number of hosts that have it.
fn run(input: &mut &str) -> ModalResult<(u32, usize)> {
    let number = digit1.parse_to().verify(|number| *number != 0);
    let hosts = digit1.parse_to().verify(|hosts| *hosts != 0);
    let hosts = opt(delimited("(x", hosts, ')'));
    (number, hosts.map(|hosts| hosts.unwrap_or(1))).parse_next(input)
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod hostlist_tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &[&str]) {
        assert_eq!(hostlist(text).unwrap(), expect);
    }

    #[test]
    fn brackets_stand_for_numbers() {
        check("tux", &["tux"]);
        check("tux0,tux[2-3]", &["tux0", "tux2", "tux3"]);
        check("n[001-003,7]", &["n001", "n002", "n003", "n7"]);
        check("n[8-10]", &["n8", "n9", "n10"]);
        check("n[08-10]-ib", &["n08-ib", "n09-ib", "n10-ib"]);
        check(
            "node64-[17-20]",
            &["node64-17", "node64-18", "node64-19", "node64-20"],
        );
        check("m-[1-2]x[08-09]", &["m-1x08", "m-1x09", "m-2x08", "m-2x09"]);
        check("[1-2].lab", &["1.lab", "2.lab"]);
    }

    #[test]
    fn invalid_host_lists_are_refused_with_the_position() {
        for (text, found) in [
            ("", "ends too early"),
            ("n1,", "ends too early"),
            ("n[1-2", "ends too early"),
            ("n[]", "invalid text \"]\""),
            ("n[2-1]", "invalid text \"2-1]\""),
            ("n[a-b]", "invalid text \"a-b]\""),
            ("n1]", "invalid text \"]\""),
            ("n1 n2", "invalid text \" n2\""),
            (
                "n[1234567890123456789]",
                "invalid text \"1234567890123456789]\"",
            ),
        ] {
            let error = hostlist(text).unwrap_err();
            assert!(error.starts_with(found), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_list_names_65536_hosts_at_most() {
        assert_eq!(hostlist("n[1-65536]").unwrap().len(), HOSTS_MAX);
        for text in [
            "n[1-65537]",
            "n[0-255]x[0-255],m",
            "n[0-999999999999999999]x[0-99]",
        ] {
            let error = hostlist(text).unwrap_err();
            assert!(error.ends_with(" hosts, expected at most 65536"), "{error}");
        }
    }

    /// Numbers in brackets of one width, runs of them as ranges: as Slurm does.
    fn compressed(prefix: &str, width: usize, numbers: &[u64]) -> String {
        let runs = numbers.chunk_by(|one, next| one + 1 == *next);
        let texts: Vec<String> = runs
            .map(|run| match (run[0], run[run.len() - 1]) {
                (low, high) if low == high => format!("{low:0width$}"),
                (low, high) => format!("{low:0width$}-{high:0width$}"),
            })
            .collect();
        format!("{prefix}[{}]", texts.join(","))
    }

    proptest! {
        #[test]
        fn expanding_undoes_compressing(
            groups in prop::collection::btree_map(
                "[a-z]{1,3}-",
                (1_usize..5, prop::collection::btree_set(0_u64..300, 1..40)),
                1..5,
            )
        ) {
            let mut hosts = Vec::new();
            let mut lists = Vec::new();
            for (prefix, (width, numbers)) in &groups {
                let numbers: Vec<u64> = numbers.iter().copied().collect();
                hosts.extend(numbers.iter().map(|number| format!("{prefix}{number:0width$}")));
                lists.push(compressed(prefix, *width, &numbers));
            }
            prop_assert_eq!(hostlist(&lists.join(",")), Ok(hosts));
        }

        #[test]
        fn no_text_does_harm(text in "[n0-9,\\[\\]-]{0,30}") {
            let _any = hostlist(&text);
        }
    }

    #[test]
    fn equal_numbers_are_written_once() {
        assert_eq!(counts("8"), Ok(vec![8]));
        assert_eq!(counts("72(x2),36"), Ok(vec![72, 72, 36]));
        assert_eq!(counts("2(x3),1"), Ok(vec![2, 2, 2, 1]));
    }

    #[test]
    fn other_numbers_are_refused() {
        for text in [
            "",
            "0",
            "4(x0)",
            "4(3)",
            "4(x3",
            "4,",
            "-1",
            "4 (x3)",
            "99999999999",
        ] {
            assert!(counts(text).is_err(), "{text:?}");
        }
        let error = counts("1(x99999999)").unwrap_err();
        assert_eq!(error, "99999999 hosts, expected at most 65536");
    }
}
