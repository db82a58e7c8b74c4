//! The text of a profile: lines of date and value.

use std::collections::BTreeMap;

use bsp::units::Seconds;

use crate::platform::error::{At, ErrorAt, PlatformErrorKind};
use crate::platform::profile_quantity::ProfileQuantity;
use crate::platform::simgrid::element::Attribute;
use crate::profile::{Point, Profile};

/// Reads a profile: `date value` on each line, `#` and `%` begin comments, `PERIODICITY p` repeats all
/// points every `p` seconds, `LOOPAFTER d` repeats them `d` seconds after the last. Without such a line
/// they are repeated every `period` seconds, if there is one.
pub(super) fn read(
    file: &str,
    text: &str,
    period: Option<f64>,
) -> Result<Profile, PlatformErrorKind> {
    let mut points: Vec<Point> = Vec::new();
    let mut repetition = period.map(Repetition::Every);
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', '%']) {
            continue;
        }
        let misread = || PlatformErrorKind::ProfileLine {
            file: file.to_owned(),
            line: number + 1,
            met: line.to_owned(),
        };
        let mut words = line.split_whitespace();
        match (words.next().unwrap_or(""), words.next().unwrap_or("")) {
            ("STOCHASTIC" | "DET" | "NORM" | "UNIF" | "EXP", _) => {
                return Err(PlatformErrorKind::NotSupported {
                    what: format!("the stochastic profile `{file}`"),
                    instead: "draw it once and write down dates and values",
                });
            }
            ("PERIODICITY", length) => {
                let length = number_of(length).ok_or_else(misread)?;
                repetition = Some(Repetition::Every(length));
            }
            ("LOOPAFTER", length) => {
                let length = number_of(length).ok_or_else(misread)?;
                repetition = Some(Repetition::After(length));
            }
            (date, value) => {
                let date = number_of(date).ok_or_else(misread)?;
                let value = number_of(value).ok_or_else(misread)?;
                // Of several values at one date, the last one holds.
                if points
                    .last()
                    .is_some_and(|last| date <= last.date && last.date <= date)
                {
                    points.pop();
                }
                points.push(Point { date, value });
            }
        }
    }
    let invalid = |source| PlatformErrorKind::Profile {
        name: format!("profile `{file}`"),
        source,
    };
    let Some(repetition) = repetition else {
        return Profile::new(points, None).map_err(invalid);
    };
    let last = points.last().map_or(0.0, |point| point.date);
    let period = match repetition {
        Repetition::Every(period) => period,
        Repetition::After(delay) => last + delay,
    };
    // The last point coincides with the first of the next cycle, which overrides it.
    if 1 < points.len() && period <= last && last <= period && points[0].date <= 0.0 {
        points.pop();
    }
    let period = Seconds::new(period).expect("a sum of finite numbers read from a file is finite");
    Profile::new(points, Some(period)).map_err(invalid)
}

enum Repetition {
    Every(f64),
    After(f64),
}

/// A number of moderate size, so that sums of dates stay finite.
fn number_of(word: &str) -> Option<f64> {
    word.parse()
        .ok()
        .filter(|number: &f64| number.abs() < 1e100)
}

/// Profiles by the name of their file; `load` returns the text of a file.
pub(super) struct Profiles<'load> {
    load: &'load mut dyn FnMut(&str) -> Result<String, String>,
    known: BTreeMap<String, Profile>,
}

impl<'load> Profiles<'load> {
    pub(super) fn new(load: &'load mut dyn FnMut(&str) -> Result<String, String>) -> Self {
        Self {
            load,
            known: BTreeMap::new(),
        }
    }

    /// The profile in a file, checked to be one of `quantity`.
    pub(super) fn of(
        &mut self,
        file: Attribute<'_>,
        quantity: ProfileQuantity,
    ) -> Result<Profile, ErrorAt> {
        if !self.known.contains_key(file.text) {
            let text = (self.load)(file.text).map_err(|reason| {
                file.error(PlatformErrorKind::ProfileFile {
                    file: file.text.to_owned(),
                    reason,
                })
            })?;
            let profile = read(file.text, &text, None).at(file.at)?;
            self.known.insert(file.text.to_owned(), profile);
        }
        let profile = self.known[file.text].clone();
        quantity.check(file.text, &profile).at(file.at)?;
        Ok(profile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dates(text: &str) -> (Vec<(f64, f64)>, Option<f64>) {
        let profile = read("p", text, None).unwrap();
        let points = profile
            .points()
            .iter()
            .map(|point| (point.date, point.value))
            .collect();
        (points, profile.period().map(Seconds::get))
    }

    #[test]
    fn comments_and_repetitions_are_read() {
        assert_eq!(
            dates("# speed\nPERIODICITY 12\n\n0 1.0\n%\n 11.0\t0.5 \n"),
            (vec![(0.0, 1.0), (11.0, 0.5)], Some(12.0))
        );
        assert_eq!(
            dates("1 0.25\n2 1.0\nLOOPAFTER 0.5\n"),
            (vec![(1.0, 0.25), (2.0, 1.0)], Some(2.5))
        );
        assert_eq!(
            dates("0 1\n5 2\n5 3\nLOOPAFTER 0"),
            (vec![(0.0, 1.0)], Some(5.0))
        );
    }

    #[test]
    fn errors_name_the_line() {
        assert_eq!(
            read("p", "0 1\n5", None).unwrap_err().to_string(),
            "profile `p`, line 2: invalid line `5`: expected `<date> <value>`"
        );
        assert_eq!(
            read("p", "5 1\n4 1", None).unwrap_err().to_string(),
            "profile `p`: invalid date `4`: must be after the previous point at 5 s"
        );
        assert_eq!(
            read("p", "STOCHASTIC\nDET 1 UNIF 0 1", None)
                .unwrap_err()
                .to_string(),
            "the stochastic profile `p` is not supported; draw it once and write down dates and \
             values"
        );
        assert_eq!(
            read("p", "PERIODICITY 1\n0 1\n5 2", None)
                .unwrap_err()
                .to_string(),
            "profile `p`: invalid period `1`: must be longer than the 5 s from the first point to the last"
        );
    }
}
