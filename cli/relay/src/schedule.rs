//! Which level a link has when: constant, drawn, or out of a file.

use std::iter;
use std::path::Path;

use bsp::units::{Instant, Seconds};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use settings::Fault;

use crate::link::Level;

/// Which level a link has when.
#[derive(Clone, Debug, PartialEq)]
pub enum LevelSchedule {
    /// One level.
    Constant(Level),
    /// Levels drawn from a seed.
    Drawn {
        /// The least level.
        least: Level,
        /// The greatest level.
        greatest: Level,
        /// The mean time for which a level is held.
        dwell: Seconds,
        /// Equal seeds draw equal levels and times.
        seed: u64,
    },
    /// These changes, at ascending times. Before the first, the level is 1; the last one stays.
    Listed(Vec<Change>),
}

/// A level, and when it begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The time since the link began.
    pub at: Instant,
    /// The level from then on.
    pub level: Level,
}

impl LevelSchedule {
    /// The changes, by time; drawn ones do not end.
    #[must_use]
    pub fn changes(&self) -> Box<dyn Iterator<Item = Change> + Send + '_> {
        match self {
            Self::Constant(level) => Box::new(iter::once(Change {
                at: Instant::START,
                level: *level,
            })),
            Self::Drawn {
                least,
                greatest,
                dwell,
                seed,
            } => Box::new(drawn((*least, *greatest), *dwell, *seed)),
            Self::Listed(changes) => Box::new(changes.iter().copied()),
        }
    }
}

/// Levels uniform in the range, each for a time that is exponential with mean `dwell`.
fn drawn(
    (least, greatest): (Level, Level),
    dwell: Seconds,
    seed: u64,
) -> impl Iterator<Item = Change> {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..].copy_from_slice(PURPOSE);
    let mut rng = ChaCha8Rng::from_seed(key);
    let mut at = 0.0;
    iter::from_fn(move || {
        let begins = Instant::new(at).ok()?;
        let width = greatest.get() - least.get();
        // Rounding must not leave the range.
        let level = (least.get() + rng.random::<f64>() * width).min(greatest.get());
        at -= dwell.get() * libm::log(1.0 - rng.random::<f64>());
        Some(Change {
            at: begins,
            level: Level::new(level)?,
        })
    })
}

const PURPOSE: &[u8; 24] = b"levels of the relay link";

/// Reads a schedule from a CSV file with the header `seconds,level`. Lines that begin with `#` are comments.
///
/// # Errors
///
/// If the file cannot be read, or a line is invalid: file, line and rule.
pub fn read_levels(file: &Path) -> Result<LevelSchedule, Fault> {
    let name = settings::name_of(file);
    let bytes = settings::read_bytes(file);
    let bytes = bytes.map_err(|error| Fault::new(Some(&name), "", format!("{error}")))?;
    parse(&name, bytes)
}

fn parse(name: &str, bytes: Vec<u8>) -> Result<LevelSchedule, Fault> {
    let text = settings::text(bytes).map_err(|error| Fault::new(Some(name), "", error))?;
    let mut changes: Vec<Change> = Vec::new();
    let mut has_header = false;
    for (line, number) in text.lines().map(str::trim).zip(1_u32..) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let place = format!("{name}:{number}");
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        if !has_header {
            if cells != HEADER {
                let rule = "the first line must be `seconds,level`";
                return Err(Fault::invalid(Some(&place), "", line, rule));
            }
            has_header = true;
            continue;
        }
        let [seconds, level] = cells[..] else {
            let rule = "must be two numbers, such as `10,0.5`";
            return Err(Fault::invalid(Some(&place), "", line, rule));
        };
        changes.push(change(&place, (seconds, level), changes.last())?);
    }
    if changes.is_empty() {
        let problem =
            "no levels: must have the line `seconds,level` and then lines such as `0,0.5`";
        return Err(Fault::new(Some(name), "", problem));
    }
    Ok(LevelSchedule::Listed(changes))
}

/// The change in a line, after `before`.
fn change(
    place: &str,
    (seconds, level): (&str, &str),
    before: Option<&Change>,
) -> Result<Change, Fault> {
    let fault = |key, found: &str, rule| Fault::invalid(Some(place), key, found, rule);
    let at = seconds.parse().ok().and_then(|at| Instant::new(at).ok());
    let at = at.filter(|at| at.get() <= SECONDS_MAX).ok_or_else(|| {
        let rule = "must be a number of seconds from 0 to 1e9, without a unit";
        fault("seconds", seconds, rule.to_owned())
    })?;
    if let Some(before) = before.filter(|before| at <= before.at) {
        let rule = format!("must be after {}, the time before it", before.at.get());
        return Err(fault("seconds", seconds, rule));
    }
    let read = level.parse().ok().and_then(Level::new);
    let level = read.ok_or_else(|| fault("level", level, Level::RULE.to_owned()))?;
    Ok(Change { at, level })
}

const HEADER: [&str; 2] = ["seconds", "level"];
/// 32 years.
const SECONDS_MAX: f64 = 1e9;

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(seed: u64) -> LevelSchedule {
        LevelSchedule::Drawn {
            least: Level::new(0.2).unwrap(),
            greatest: Level::new(0.8).unwrap(),
            dwell: Seconds::new(3.0).unwrap(),
            seed,
        }
    }

    #[test]
    fn equal_seeds_draw_equal_levels_and_times() {
        let first = |seed| schedule(seed).changes().take(100).collect::<Vec<_>>();
        assert_eq!(first(7), first(7));
        assert_ne!(first(7), first(8));
        // The draws of a seed are the same in all versions and on all machines.
        let [one, two] = [first(7)[0], first(7)[1]];
        assert_eq!(one.at, Instant::START);
        let bits = [one.level.get(), two.at.get(), two.level.get()].map(f64::to_bits);
        assert_eq!(bits, PINNED, "{one:?} {two:?}");
    }

    /// What the seed 7 draws: a level, the time of the second one, and the second one.
    const PINNED: [u64; 3] = [
        4603131979278208483,
        4605539822720110192,
        4603545855527608842,
    ];

    #[test]
    fn levels_are_uniform_in_the_range_and_times_exponential() {
        let count = 20_000;
        let drawn = schedule(1);
        let changes: Vec<Change> = drawn.changes().take(count + 1).collect();
        let levels = || changes.iter().map(|change| change.level.get());
        assert!(levels().all(|level| (0.2..=0.8).contains(&level)));
        let number = f64::from(u32::try_from(count).unwrap());
        let mean = |sum: f64| sum / number;
        // Four standard errors of a uniform variable of width 0.6, and of its share below a quarter.
        assert!((mean(levels().sum()) - 0.5).abs() < 4.0 * 0.6 / 12_f64.sqrt() / number.sqrt());
        let low = levels().filter(|level| *level < 0.35).count();
        let low = f64::from(u32::try_from(low).unwrap());
        assert!((low / number - 0.25).abs() < 4.0 * (0.25 * 0.75 / number).sqrt());
        let held: Vec<f64> = changes
            .windows(2)
            .map(|pair| (pair[1].at - pair[0].at).get())
            .collect();
        assert!((mean(held.iter().sum()) - 3.0).abs() < 4.0 * 3.0 / number.sqrt());
        // Of an exponential variable, 1/e of the values is above the mean.
        let long = held.iter().filter(|held| 3.0 < **held).count();
        let long = f64::from(u32::try_from(long).unwrap()) / number;
        let share = (-1_f64).exp();
        assert!((long - share).abs() < 4.0 * (share * (1.0 - share) / number).sqrt());
    }

    #[test]
    fn constant_and_listed_levels_are_what_they_say() {
        let level = Level::new(0.3).unwrap();
        let at = Instant::START;
        let constant = LevelSchedule::Constant(level);
        assert_eq!(
            constant.changes().collect::<Vec<_>>(),
            [Change { at, level }]
        );
        let changes = vec![Change { at, level }; 2];
        let listed = LevelSchedule::Listed(changes.clone());
        assert_eq!(listed.changes().collect::<Vec<_>>(), changes);
    }

    #[test]
    fn files_are_read_with_comments_and_spaces() {
        let text = "# a drop\nseconds,level\n0, 1\n\n2.5,0.25\n";
        let change = |at, level| Change {
            at: Instant::new(at).unwrap(),
            level: Level::new(level).unwrap(),
        };
        let expected = LevelSchedule::Listed(vec![change(0.0, 1.0), change(2.5, 0.25)]);
        assert_eq!(parse("f", text.as_bytes().to_vec()), Ok(expected));
    }

    #[test]
    fn faults_name_line_and_rule() {
        let rule = "must be a number of seconds from 0 to 1e9, without a unit";
        for (lines, place, problem) in [
            (
                "0,0",
                "f:2",
                "invalid value `0` for `level`: must be above 0 and at most 1",
            ),
            (
                "#\n0,nan",
                "f:3",
                "invalid value `nan` for `level`: must be above 0 and at most 1",
            ),
            (
                "0,-1",
                "f:2",
                "invalid value `-1` for `level`: must be above 0 and at most 1",
            ),
            (
                "0,50%",
                "f:2",
                "invalid value `50%` for `level`: must be above 0 and at most 1",
            ),
            (
                "-1,1",
                "f:2",
                &format!("invalid value `-1` for `seconds`: {rule}"),
            ),
            (
                "1s,1",
                "f:2",
                &format!("invalid value `1s` for `seconds`: {rule}"),
            ),
            (
                "1e10,1",
                "f:2",
                &format!("invalid value `1e10` for `seconds`: {rule}"),
            ),
            (
                "1,1\n1,1",
                "f:3",
                "invalid value `1` for `seconds`: must be after 1, the time before it",
            ),
            (
                "1",
                "f:2",
                "invalid value `1`: must be two numbers, such as `10,0.5`",
            ),
            (
                "1,1,1",
                "f:2",
                "invalid value `1,1,1`: must be two numbers, such as `10,0.5`",
            ),
            (
                "",
                "f",
                "no levels: must have the line `seconds,level` and then lines such as `0,0.5`",
            ),
        ] {
            let fault = parse("f", format!("seconds,level\n{lines}").into_bytes()).unwrap_err();
            assert_eq!(
                fault.to_string(),
                format!("{problem}\n  --> {place}"),
                "{lines}"
            );
        }
        let fault = parse("f", b"0,1\n".to_vec()).unwrap_err();
        let expected = "invalid value `0,1`: the first line must be `seconds,level`\n  --> f:1";
        assert_eq!(fault.to_string(), expected);
        assert!(parse("f", b"seconds,level\n\xff,1\n".to_vec()).is_err());
    }
}
