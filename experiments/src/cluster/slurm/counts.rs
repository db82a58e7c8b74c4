//! A number per host as Slurm writes them: `4(x3),2`.

use winnow::ascii::digit1;
use winnow::combinator::{delimited, opt, separated};
use winnow::{ModalResult, Parser};

use crate::cluster::slurm::hostlist::HOSTS_MAX;

/// The numbers of `text`, one per host.
pub(super) fn counts(text: &str) -> Result<Vec<u32>, String> {
    let runs: Vec<(u32, usize)> = separated(1.., run, ',').parse(text).map_err(|_| {
        format!("invalid value {text:?}, must be a number per host, from 1 on, as in `4(x3),2`")
    })?;
    let met = runs
        .iter()
        .fold(0, |sum: usize, run| sum.saturating_add(run.1));
    if HOSTS_MAX < met {
        return Err(format!("{met} hosts, expected at most {HOSTS_MAX}"));
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
mod tests {
    use super::*;

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
