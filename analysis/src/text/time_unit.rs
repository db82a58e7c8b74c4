//! One unit for all times of a table.

use crate::text::number::rounded;

/// The unit of all times of a table: that in which the longest one is at least 1, but no longer one than seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeUnit {
    heading: &'static str,
    name: &'static str,
    per_second: f64,
}

impl TimeUnit {
    /// Seconds.
    pub const SECONDS: Self = Self {
        heading: "seconds",
        name: "s",
        per_second: 1.0,
    };

    const SHORTER: [Self; 3] = [
        Self {
            heading: "ms",
            name: "ms",
            per_second: 1e3,
        },
        Self {
            heading: "us",
            name: "us",
            per_second: 1e6,
        },
        Self {
            heading: "ns",
            name: "ns",
            per_second: 1e9,
        },
    ];

    /// The unit for these times in seconds.
    pub fn of(times: impl IntoIterator<Item = f64>) -> Self {
        let sizes = times.into_iter().map(f64::abs);
        let longest = sizes
            .filter(|size| size.is_finite())
            .fold(0.0_f64, f64::max);
        let [milli, micro, nano] = Self::SHORTER;
        match longest {
            0.0 | 1.0.. => Self::SECONDS,
            1e-3.. => milli,
            1e-6.. => micro,
            _ => nano,
        }
    }

    /// The heading of a column of times.
    pub const fn heading(self) -> &'static str {
        self.heading
    }

    /// Its symbol, as in `5 ms`.
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// `seconds` as a number of this unit.
    pub fn text(self, seconds: f64, decimals: u8) -> String {
        rounded(seconds * self.per_second, decimals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_time_decides() {
        let text = |times: &[f64]| {
            let unit = TimeUnit::of(times.iter().copied());
            let times = times.iter().map(|time| unit.text(*time, 3));
            (unit.heading(), times.collect::<Vec<_>>().join(" "))
        };
        assert_eq!(
            text(&[0.001, 2.5]),
            ("seconds", "1.000e-3 2.500".to_owned())
        );
        assert_eq!(text(&[0.000_8, 0.002_1]), ("ms", "0.800 2.100".to_owned()));
        assert_eq!(text(&[-1.5e-6]), ("us", "-1.500".to_owned()));
        assert_eq!(text(&[2e-8, 0.0]), ("ns", "20.000 0.000".to_owned()));
        assert_eq!(text(&[0.0]), ("seconds", "0.000".to_owned()));
        assert_eq!(TimeUnit::of([]).name(), "s");
    }
}
