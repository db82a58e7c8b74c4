//! `--between` of `up`: the links between the Sets of a local cluster, and the relay that carries them.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bsp::SetId;
use bsp::units::{BytesPerSecond, Seconds};
use clap::Args;
use experiments::Failure;
use protocol::Member;
use relay::{Level, LevelSchedule, LinkSettings, Relay, RelayError, read_levels};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// Options for the link between Sets.
#[derive(Debug, Args)]
pub(crate) struct BetweenArguments {
    /// Rate of the link between Sets, and its latency in one direction [default: no link, no limit]
    #[arg(long, value_name = "RATE[,LATENCY]", allow_hyphen_values = true)]
    between: Option<Between>,
    /// Available part of RATE: a number, a range to draw from, or a CSV file with the columns seconds,level [default: 1]
    #[arg(
        long,
        value_name = "LEVEL|A..B|FILE",
        allow_hyphen_values = true,
        requires = "between"
    )]
    level: Option<LevelArgument>,
    /// Mean time for which a drawn level is held [default: 10s]
    #[arg(long, value_name = "DURATION", requires = "level", allow_hyphen_values = true, value_parser = positive_time)]
    dwell: Option<Seconds>,
    /// Seed of drawn levels [default: 1]
    #[arg(long, value_name = "N", requires = "level")]
    seed: Option<u64>,
}

/// Rate and latency of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Between {
    rate: BytesPerSecond,
    latency: Seconds,
}

/// The levels of a link, as they are written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LevelArgument {
    Constant(Level),
    Range(Level, Level),
    File(PathBuf),
}

impl BetweenArguments {
    /// The links between `sets` Sets; `None`: there is no limit.
    ///
    /// # Errors
    ///
    /// If there is one Set, or the levels are invalid.
    pub(crate) fn links(&self, sets: u32) -> Result<Option<SetLinks>, Failure> {
        let Some(Between { rate, latency }) = self.between else {
            return Ok(None);
        };
        if sets < 2 {
            return Err(Failure::Usage(
                "--between: there is one Set, so no link between Sets: add --sets 2".to_owned(),
            ));
        }
        let settings = LinkSettings::new(rate, latency);
        Ok(Some(SetLinks::alike(sets, settings, &self.levels()?)))
    }

    fn levels(&self) -> Result<LevelSchedule, Failure> {
        let is_drawn = self.level.as_ref().is_some_and(LevelArgument::is_drawn);
        if !is_drawn && self.seed.is_some() {
            return Err(only_drawn("--seed"));
        }
        let seed = self.seed.unwrap_or(SEED);
        let level = self.level.as_ref();
        level.map_or(Ok(LevelSchedule::Constant(Level::FULL)), |level| {
            level.schedule(self.dwell, seed)
        })
    }
}

/// An option that says how levels are drawn, where they are not.
fn only_drawn(option: &str) -> Failure {
    let problem = format!("{option}: only drawn levels have it: give a range, as --level 0.2..0.8");
    Failure::Usage(problem)
}

/// The mean time for which a drawn level is held, if none is given.
pub(crate) fn default_dwell() -> Seconds {
    seconds(DWELL)
}

impl LevelArgument {
    /// Whether levels are drawn.
    pub(crate) const fn is_drawn(&self) -> bool {
        matches!(self, Self::Range(..))
    }

    /// The levels over time; `seed` is that of drawn ones.
    ///
    /// # Errors
    ///
    /// If a file of levels is invalid, or there is a dwell and levels are not drawn.
    pub(crate) fn schedule(
        &self,
        dwell: Option<Seconds>,
        seed: u64,
    ) -> Result<LevelSchedule, Failure> {
        if dwell.is_some() && !self.is_drawn() {
            return Err(only_drawn("--dwell"));
        }
        Ok(match self {
            Self::Range(least, greatest) => LevelSchedule::Drawn {
                least: *least,
                greatest: *greatest,
                dwell: dwell.unwrap_or_else(default_dwell),
                seed,
            },
            Self::Constant(level) => LevelSchedule::Constant(*level),
            Self::File(file) => levels_of(file)?,
        })
    }
}

impl fmt::Display for LevelArgument {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(level) => write!(formatter, "{}", level.get()),
            Self::Range(least, greatest) => {
                write!(formatter, "{}..{}", least.get(), greatest.get())
            }
            Self::File(file) => write!(formatter, "{}", file.display()),
        }
    }
}

impl FromStr for Between {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (rate, latency) = match text.split_once(',') {
            Some((rate, latency)) => (rate, Some(latency)),
            None => (text, None),
        };
        let rate = simulator::bandwidth(with_unit(rate, RATE)?)
            .map_err(|error| format!("RATE: {}", error.problem))?;
        let latency = latency.map(positive_time).transpose();
        let latency = latency.map_err(|problem| format!("LATENCY: {problem}"))?;
        if latency.is_some_and(|latency| LATENCY_MAX < latency.get()) {
            let problem = format!(
                "LATENCY: must be at most {LATENCY_MAX} s: nodes that are silent for 2.5 s count as lost"
            );
            return Err(problem);
        }
        Ok(Self {
            rate,
            latency: latency.unwrap_or(Seconds::ZERO),
        })
    }
}

impl FromStr for LevelArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(number) = text.trim().parse::<f64>() {
            let level = Level::new(number).ok_or(Level::RULE)?;
            return Ok(Self::Constant(level));
        }
        let number = |text: &str| text.trim().parse::<f64>().ok();
        match text.split_once("..") {
            // `../levels.csv` is a file.
            Some((least, greatest)) if number(least).is_some() || number(greatest).is_some() => {
                let bounds = [least, greatest].map(|bound| number(bound).and_then(Level::new));
                match bounds {
                    [Some(least), Some(greatest)] if least <= greatest => {
                        Ok(Self::Range(least, greatest))
                    }
                    _ => Err("must be A..B with 0 < A <= B <= 1, such as 0.2..0.8".to_owned()),
                }
            }
            _ => Ok(Self::File(text.into())),
        }
    }
}

/// Reads a time above zero.
pub(crate) fn positive_time(text: &str) -> Result<Seconds, String> {
    let time =
        simulator::time(with_unit(text, TIME)?).map_err(|error| error.problem.to_string())?;
    if time.get() <= 0.0 {
        return Err("must be above 0".to_owned());
    }
    Ok(time)
}

/// The same as a duration.
///
/// # Errors
///
/// The same.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let seconds = positive_time(text)?.get();
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

/// The text, unless it is a number without a unit.
fn with_unit<'a>(text: &'a str, example: &str) -> Result<&'a str, String> {
    if text.trim().parse::<f64>().is_ok_and(f64::is_finite) {
        return Err(format!("`{}` has no unit: must be {example}", text.trim()));
    }
    Ok(text)
}

/// Reads the levels in a file.
fn levels_of(file: &Path) -> Result<LevelSchedule, Failure> {
    if !settings::is_stdin(file) && !file.exists() {
        let problem = format!(
            "--level {}: no such file: must be a level such as 0.5, a range such as 0.2..0.8, or a CSV file",
            file.display()
        );
        return Err(Failure::Usage(problem));
    }
    Ok(read_levels(file)?)
}

fn seconds(number: f64) -> Seconds {
    Seconds::new(number).expect("a finite number")
}

const RATE: &str = "a bandwidth such as 11.8MBps or 10Mbps";
const TIME: &str = "a time such as 2ms";
/// The longest latency, in seconds.
pub(crate) const LATENCY_MAX: f64 = 0.5;
/// The mean time for which a drawn level is held, in seconds.
const DWELL: f64 = 10.0;
const SEED: u64 = 1;

/// The link in each direction between any two Sets, and its levels.
#[derive(Debug)]
pub(crate) struct SetLinks(BTreeMap<(SetId, SetId), (LinkSettings, LevelSchedule)>);

/// A relay that runs on a thread of its own; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct RunningRelay {
    leave: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    failure: Arc<Mutex<Option<RelayError>>>,
}

impl SetLinks {
    /// These links: one for each ordered pair of Sets.
    pub(crate) const fn new(
        links: BTreeMap<(SetId, SetId), (LinkSettings, LevelSchedule)>,
    ) -> Self {
        Self(links)
    }

    /// Equal links, whose levels change together, between that many Sets.
    fn alike(sets: u32, settings: LinkSettings, levels: &LevelSchedule) -> Self {
        let pairs = (0..sets).flat_map(|from| (0..sets).map(move |to| (SetId(from), SetId(to))));
        let link = |pair| (pair, (settings, levels.clone()));
        Self(pairs.filter(|(from, to)| from != to).map(link).collect())
    }

    /// The same links with other levels, which change together.
    pub(crate) fn with_levels(mut self, levels: &LevelSchedule) -> Self {
        for (_, of_link) in self.0.values_mut() {
            of_link.clone_from(levels);
        }
        self
    }

    /// A relay with these links between the Sets of `members`, whose addresses are not needed yet.
    ///
    /// # Errors
    ///
    /// If the system refuses it.
    pub(crate) fn bind(&self, members: &[Member]) -> Result<Relay, Failure> {
        let mut names: Vec<&str> = Vec::new();
        let mut sets = Vec::new();
        for member in members {
            let known = names.iter().position(|name| *name == member.set);
            sets.push(SetId::from_index(known.unwrap_or(names.len())));
            if known.is_none() {
                names.push(&member.set);
            }
        }
        let settings = |from, to| self.0[&(from, to)].0;
        Relay::bind(&sets, settings).map_err(Failure::run)
    }

    /// Lets `relay` forward between `nodes`.
    ///
    /// # Errors
    ///
    /// If the system refuses a thread.
    pub(crate) fn run(self, relay: Relay, nodes: Vec<SocketAddr>) -> Result<RunningRelay, Failure> {
        let (leave, left) = oneshot::channel::<()>();
        let failure = Arc::new(Mutex::new(None));
        let failed = Arc::clone(&failure);
        let running = move || {
            if let Err(error) = self.forward(relay, nodes, left) {
                *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            }
        };
        let thread = thread::Builder::new()
            .name("relay".to_owned())
            .spawn(running);
        Ok(RunningRelay {
            leave: Some(leave),
            thread: Some(thread.map_err(Failure::run)?),
            failure,
        })
    }

    /// Forwards until `left` ends.
    fn forward(
        self,
        relay: Relay,
        nodes: Vec<SocketAddr>,
        left: oneshot::Receiver<()>,
    ) -> Result<(), RelayError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.map_err(RelayError::Socket)?.block_on(async {
            // They end with this.
            let mut followed = JoinSet::new();
            for (pair, (_, levels)) in self.0 {
                let controls = relay.controls();
                drop(followed.spawn(async move { controls.follow(pair, &levels).await }));
            }
            tokio::select! {
                biased;
                _ = left => Ok(()),
                ended = relay.run(nodes) => ended.map(|never: Infallible| match never {}),
            }
        })
    }
}

impl RunningRelay {
    /// Why it has ended, if it has.
    pub(crate) fn failure(&self) -> Option<String> {
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure
            .as_ref()
            .map(|error| format!("the link between the Sets has failed: {error}"))
    }
}

impl Drop for RunningRelay {
    fn drop(&mut self) {
        drop(self.leave.take());
        if let Some(thread) = self.thread.take() {
            // It has no result.
            drop(thread.join());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_latencies_have_units_and_are_above_zero() {
        let read = |text: &str| text.parse::<Between>();
        let between = |rate, latency| Between {
            rate: BytesPerSecond::new(rate).unwrap(),
            latency: seconds(latency),
        };
        assert_eq!(read("11.8MBps"), Ok(between(11.8e6, 0.0)));
        assert_eq!(read("10Mbps,2ms"), Ok(between(1.25e6, 0.002)));
        assert_eq!(read("1 GBps, 4 ms"), Ok(between(1e9, 0.004)));
        for (text, problem) in [
            (
                "5",
                "`5` has no unit: must be a bandwidth such as 11.8MBps or 10Mbps",
            ),
            ("0MBps", "RATE: must be positive"),
            ("-1MBps", "RATE: must be positive"),
            (
                "nan",
                "RATE: must be a bandwidth such as `12.5 MBps` or `100 Mbps`",
            ),
            (
                "",
                "RATE: must be a bandwidth such as `12.5 MBps` or `100 Mbps`",
            ),
            (
                "5MBps,2",
                "LATENCY: `2` has no unit: must be a time such as 2ms",
            ),
            ("5MBps,0ms", "LATENCY: must be above 0"),
            ("5MBps,-2ms", "LATENCY: must be at least 0"),
            (
                "5MBps,1s",
                "LATENCY: must be at most 0.5 s: nodes that are silent for 2.5 s count as lost",
            ),
        ] {
            assert_eq!(read(text), Err(problem.to_owned()), "{text}");
        }
        assert!(
            read("5MB")
                .unwrap_err()
                .starts_with("RATE: unknown unit `MB`")
        );
        assert!(
            read("5MBps,")
                .unwrap_err()
                .starts_with("LATENCY: must be a time")
        );
    }

    #[test]
    fn levels_are_numbers_ranges_or_files() {
        let read = |text: &str| text.parse::<LevelArgument>();
        let level = |part| Level::new(part).unwrap();
        assert_eq!(read("0.5"), Ok(LevelArgument::Constant(level(0.5))));
        assert_eq!(
            read("0.2..0.8"),
            Ok(LevelArgument::Range(level(0.2), level(0.8)))
        );
        for file in ["levels.csv", "../levels.csv", "a..b"] {
            assert_eq!(read(file), Ok(LevelArgument::File(file.into())));
        }
        for number in ["0", "-0.5", "1.5", "nan", "inf"] {
            assert_eq!(read(number), Err(Level::RULE.to_owned()), "{number}");
        }
        for range in [
            "0..1", "0.8..0.2", "0.5..", "..0.5", "0.5..2", "-1..0.5", "nan..1", "0.5..x",
        ] {
            assert!(
                read(range).unwrap_err().starts_with("must be A..B"),
                "{range}"
            );
        }
    }
}
