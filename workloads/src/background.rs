//! What others do to hosts and links while a program runs: traces drawn from the run's seed.
//!
//! A trace says over time which fraction others take away. Time is counted in steps, and only integers
//! and the four basic operations are used, so a trace is the same on every machine. It depends on the
//! seed, on what the host or link is numbered, and on the parameters; not on who else is loaded.

use std::ops::RangeInclusive;

use bsp::units::Seconds;
use rand_chacha::rand_core::Rng;

use crate::draws::{by_lot, generator, part, unit};
use crate::parameters::whole;

/// Load of some hosts or links, by others.
///
/// Invariant: `share` and the level lie between 0 and 1; `step` is above zero; the period is `steps`
/// of them, one at least and a million at most; busy and idle times last a step at least.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Background {
    course: Course,
    share: f64,
    /// Seconds.
    step: f64,
    steps: u64,
}

/// How the fraction that is taken away goes up and down. `level` is the most of it, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Course {
    /// `level` or nothing, in turns that last geometrically distributed numbers of steps.
    ///
    /// A trace begins busy with the probability that it has at any other time, so that its mean is
    /// `level` · `busy` / (`busy` + `idle`).
    OnOff {
        /// What is taken while somebody is there.
        level: f64,
        /// Mean time for which somebody is there.
        busy: Seconds,
        /// Mean time between.
        idle: Seconds,
    },
    /// A slow random walk around half of `level`: eight others want an eighth of it each, and in every
    /// step one of them, whichever it is, thinks again whether to be there, as probably as not.
    ///
    /// The mean is `level` / 2, the standard deviation `level` / √32, and the correlation of two values
    /// falls by an eighth with every step between them.
    Walk {
        /// What the eight take together.
        level: f64,
    },
    /// Up and down once in every period, in two arcs of a parabola, from a drawn phase on. The mean is
    /// `level` / 2.
    Wave {
        /// The crest.
        level: f64,
    },
}

/// What is loaded. Hosts and links of equal number have different traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Hosts.
    Hosts,
    /// Links.
    Links,
}

/// Why numbers are no [`Background`].
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("`{key}` is {value:?}, expected {expected}")]
pub struct OutOfRange {
    /// The number's name: `share`, `step`, `period`, `level`, `busy` or `idle`.
    pub key: &'static str,
    /// The number met; times in seconds.
    pub value: f64,
    /// What would do.
    pub expected: &'static str,
}

/// The fraction that others take of one host or link over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// From each date on, the fraction that is taken; the first date is zero, dates increase, and
    /// neighbouring fractions differ.
    pub points: Vec<(Seconds, f64)>,
    /// After so long it begins again.
    pub period: Seconds,
}

impl Background {
    /// The load of a `share` of what it may befall, in steps of length `step`, repeated after `period`,
    /// rounded to whole steps.
    ///
    /// # Errors
    ///
    /// The first number that will not do.
    pub fn new(
        course: Course,
        share: f64,
        step: Seconds,
        period: Seconds,
    ) -> Result<Self, OutOfRange> {
        let fraction = "a number from 0 to 1";
        within("share", share, 0.0..=1.0, fraction)?;
        let (step, period) = (step.get(), period.get());
        within("step", step, STEP_MIN..=f64::MAX, "a time of at least 1 us")?;
        let expected = "a time of one `step` to a million of them, 1e12 s at most";
        let longest = (step * STEPS_MAX).min(PERIOD_MAX);
        within("period", period, step..=longest, expected)?;
        let (Course::OnOff { level, .. } | Course::Walk { level } | Course::Wave { level }) =
            course;
        within("level", level, 0.0..=1.0, fraction)?;
        if let Course::OnOff { busy, idle, .. } = course {
            for (key, mean) in [("busy", busy.get()), ("idle", idle.get())] {
                within(key, mean, step..=f64::MAX, "a time of at least one `step`")?;
            }
        }
        Ok(Self {
            course,
            share,
            step,
            steps: whole(period / step),
        })
    }

    /// Who of `numbers` is loaded, ascending, and how.
    ///
    /// # Panics
    ///
    /// If there are more numbers than 32 bits count.
    pub fn traces(
        &self,
        seed: u64,
        target: Target,
        numbers: &[u32],
    ) -> impl Iterator<Item = (u32, Trace)> {
        let count = u32::try_from(numbers.len()).expect("hosts and links are numbered in 32 bits");
        let mut chosen = by_lot(seed, target.choice(), numbers.iter().copied());
        let chosen_count =
            usize::try_from(part(self.share, count)).expect("no more than there are");
        chosen.truncate(chosen_count);
        chosen.sort_unstable();
        let background = *self;
        chosen
            .into_iter()
            .map(move |number| (number, background.trace(seed, target, number)))
    }

    /// In how many steps a trace begins again: what it costs to draw one.
    #[must_use]
    pub const fn steps(&self) -> u64 {
        self.steps
    }

    fn trace(&self, seed: u64, target: Target, number: u32) -> Trace {
        let mut draws = generator(seed, target.purpose(), number);
        let mut draw = || draws.next_u64();
        let fractions = match self.course {
            Course::OnOff { level, busy, idle } => on_off(
                level,
                self.step / busy.get(),
                self.step / idle.get(),
                self.steps,
                &mut draw,
            ),
            Course::Walk { level } => walk(level, self.steps, &mut draw),
            Course::Wave { level } => wave(level, self.steps, unit(draw())),
        };
        let mut points: Vec<(Seconds, f64)> = Vec::new();
        for (step, fraction) in (0_u32..).zip(fractions) {
            if points
                .last()
                .is_none_or(|(_, last)| last.to_bits() != fraction.to_bits())
            {
                points.push((self.after(f64::from(step)), fraction));
            }
        }
        Trace {
            points,
            period: self.after(self.steps as f64),
        }
    }

    fn after(&self, steps: f64) -> Seconds {
        Seconds::new(self.step * steps).expect("a period was checked to be finite")
    }
}

impl Target {
    const fn purpose(self) -> &'static [u8; 24] {
        match self {
            Self::Hosts => b"background load of hosts",
            Self::Links => b"background load of links",
        }
    }

    const fn choice(self) -> &'static [u8; 24] {
        match self {
            Self::Hosts => b"hosts loaded by others  ",
            Self::Links => b"links loaded by others  ",
        }
    }
}

fn within(
    key: &'static str,
    value: f64,
    range: RangeInclusive<f64>,
    expected: &'static str,
) -> Result<(), OutOfRange> {
    if range.contains(&value) {
        Ok(())
    } else {
        Err(OutOfRange {
            key,
            value,
            expected,
        })
    }
}

/// `level` or nothing in each step; a busy time ends after each of its steps with the probability
/// `ends`, an idle one with `begins`.
fn on_off(
    level: f64,
    ends: f64,
    begins: f64,
    steps: u64,
    draw: &mut impl FnMut() -> u64,
) -> Vec<f64> {
    let mut is_busy = unit(draw()) * (begins + ends) < begins;
    let mut next = |_| {
        let fraction = if is_busy { level } else { 0.0 };
        is_busy ^= unit(draw()) < if is_busy { ends } else { begins };
        fraction
    };
    (0..steps).map(&mut next).collect()
}

/// `level` / 8 for each of eight others that is there.
fn walk(level: f64, steps: u64, draw: &mut impl FnMut() -> u64) -> Vec<f64> {
    // A bit for each of them.
    let mut present = draw() & 0xff;
    let mut next = |_| {
        let fraction = level * f64::from(present.count_ones()) / 8.0;
        let bits = draw();
        let (who, comes) = (bits & 7, bits >> 3 & 1);
        present = present & !(1 << who) | comes << who;
        fraction
    };
    (0..steps).map(&mut next).collect()
}

/// From 0 to `level` and back, the mean on the way up first at `phase` 0.
fn wave(level: f64, steps: u64, phase: f64) -> Vec<f64> {
    let arc = |x: f64| 4.0 * x * (1.0 - x);
    let fraction = |step: u64| {
        let position = step as f64 / steps as f64 + phase;
        let position = position - position.floor();
        let height = if position < 0.5 {
            arc(2.0 * position)
        } else {
            -arc(2.0 * position - 1.0)
        };
        level * (1.0 + height) / 2.0
    };
    (0..steps).map(fraction).collect()
}

/// Traces with more steps are mistakes, and take too much memory.
const STEPS_MAX: f64 = 1e6;
/// Seconds; longer than any run, and far from where dates overflow.
const PERIOD_MAX: f64 = 1e12;
/// Seconds; shorter steps get lost in the last digits of dates.
const STEP_MIN: f64 = 1e-6;

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(value: f64) -> Seconds {
        Seconds::new(value).unwrap()
    }

    fn on_off() -> Course {
        Course::OnOff {
            level: 0.6,
            busy: seconds(20.0),
            idle: seconds(40.0),
        }
    }

    fn background(course: Course, share: f64, period: f64) -> Background {
        Background::new(course, share, seconds(0.5), seconds(period)).unwrap()
    }

    fn traces(background: &Background, seed: u64, numbers: &[u32]) -> Vec<(u32, Trace)> {
        background.traces(seed, Target::Hosts, numbers).collect()
    }

    fn mean(trace: &Trace) -> f64 {
        let ends = trace.points.iter().skip(1).map(|(date, _)| *date);
        let ends = ends.chain([trace.period]);
        let parts = trace.points.iter().zip(ends);
        let area: f64 = parts
            .map(|((date, fraction), end)| fraction * (end - *date).get())
            .sum();
        area / trace.period.get()
    }

    #[test]
    fn a_trace_depends_on_seed_target_and_number_alone() {
        for course in [
            on_off(),
            Course::Walk { level: 0.8 },
            Course::Wave { level: 0.8 },
        ] {
            let all = background(course, 1.0, 3600.0);
            let traces_of_all = traces(&all, 7, &[0, 1, 2, 3, 4]);
            assert_eq!(traces(&all, 7, &[0, 1, 2, 3, 4]), traces_of_all);
            assert_eq!(traces(&all, 7, &[3])[0], traces_of_all[3]);
            let some = traces(&background(course, 0.4, 3600.0), 7, &[0, 1, 2, 3, 4]);
            assert_eq!(some.len(), 2);
            assert!(some.iter().all(|one| traces_of_all.contains(one)));
            assert_ne!(traces(&all, 8, &[3])[0], traces_of_all[3]);
            assert_ne!(traces_of_all[0].1, traces_of_all[1].1);
            let of_link = all.traces(7, Target::Links, &[3]).next();
            assert_ne!(of_link, Some(traces_of_all[3].clone()));
        }
    }

    #[test]
    fn means_are_what_is_asked_for() {
        let nominal = [
            (on_off(), 0.6 * 20.0 / 60.0),
            (Course::Walk { level: 0.8 }, 0.4),
            (Course::Wave { level: 0.8 }, 0.4),
        ];
        for (course, expected) in nominal {
            let numbers: Vec<u32> = (0..20).collect();
            let traces = traces(&background(course, 1.0, 36_000.0), 1, &numbers);
            let mean = traces.iter().map(|(_, trace)| mean(trace)).sum::<f64>() / 20.0;
            assert!((mean - expected).abs() < 0.01, "{course:?}: {mean}");
        }
    }

    #[test]
    fn busy_and_idle_times_last_as_long_as_asked_for() {
        let one = &traces(&background(on_off(), 1.0, 360_000.0), 1, &[0])[0].1;
        let mut lasted = [(0.0, 0.0); 2];
        for pair in one.points.windows(2) {
            let (sum, count) = &mut lasted[usize::from(0.0 < pair[0].1)];
            *sum += (pair[1].0 - pair[0].0).get();
            *count += 1.0;
        }
        let [(idle, idles), (busy, busies)] = lasted;
        assert!((idle / idles - 40.0).abs() < 2.0, "{}", idle / idles);
        assert!((busy / busies - 20.0).abs() < 1.0, "{}", busy / busies);
    }

    #[test]
    fn traces_stay_in_range_and_change_in_every_point() {
        for course in [
            on_off(),
            Course::Walk { level: 1.0 },
            Course::Wave { level: 1.0 },
        ] {
            for (_, trace) in traces(&background(course, 1.0, 3600.0), 3, &[0, 1, 2]) {
                assert_eq!(trace.points[0].0, Seconds::ZERO);
                assert_eq!(trace.period, seconds(3600.0));
                assert!(
                    trace
                        .points
                        .iter()
                        .all(|(_, fraction)| (0.0..=1.0).contains(fraction))
                );
                let changes = |pair: &[(Seconds, f64)]| {
                    pair[0].0 < pair[1].0 && pair[0].1.to_bits() != pair[1].1.to_bits()
                };
                assert!(trace.points.windows(2).all(changes));
            }
        }
    }

    #[test]
    fn a_trace_is_the_same_in_every_version() {
        let first = |course| {
            let trace = traces(&background(course, 1.0, 3600.0), 7, &[3])
                .remove(0)
                .1;
            let three: Vec<(f64, f64)> = trace.points[..3]
                .iter()
                .map(|(at, it)| (at.get(), *it))
                .collect();
            three
        };
        assert_eq!(first(on_off()), [(0.0, 0.0), (0.5, 0.6), (61.0, 0.0)]);
        assert_eq!(
            first(Course::Walk { level: 0.8 }),
            [(0.0, 0.30000000000000004), (1.0, 0.4), (2.5, 0.5)]
        );
        assert_eq!(
            first(Course::Wave { level: 0.8 }),
            [
                (0.0, 0.29434674270091593),
                (0.5, 0.2939656097923184),
                (1.0, 0.293584723797301)
            ]
        );
    }

    #[test]
    fn numbers_out_of_range_are_named() {
        let check = |course, share, step, period, expected: &str| {
            let error = Background::new(course, share, seconds(step), seconds(period)).unwrap_err();
            assert_eq!(error.to_string(), expected);
        };
        let walk = Course::Walk { level: 1.5 };
        check(
            walk,
            1.0,
            1.0,
            60.0,
            "`level` is 1.5, expected a number from 0 to 1",
        );
        check(
            walk,
            -0.5,
            1.0,
            60.0,
            "`share` is -0.5, expected a number from 0 to 1",
        );
        check(
            walk,
            1.0,
            0.0,
            60.0,
            "`step` is 0.0, expected a time of at least 1 us",
        );
        check(
            walk,
            1.0,
            1.0,
            0.5,
            "`period` is 0.5, expected a time of one `step` to a million of them, 1e12 s at most",
        );
        check(
            walk,
            1.0,
            1e300,
            1.6e300,
            "`period` is 1.6e300, expected a time of one `step` to a million of them, 1e12 s at most",
        );
        check(
            on_off(),
            1.0,
            30.0,
            60.0,
            "`busy` is 20.0, expected a time of at least one `step`",
        );
    }
}
