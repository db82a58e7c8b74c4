//! Numbers with units: `900 kB`, `50 us`, `1.5 Ginstr`.

use bsp::units::text::{
    self, BYTE, DAY, FLOP, FLOPS, HOUR, INSTRUCTION, INSTRUCTIONS, MICRO_SECOND, MICROSECOND,
    MILLISECOND, MINUTE, MU_SECOND, NANOSECOND, SECOND, Scale, find,
};

/// The quantity of a number, which decides the units that it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Data; bare numbers are bytes.
    Bytes,
    /// Computation; bare numbers are instructions.
    Instructions,
    /// Time; bare numbers are seconds.
    Seconds,
    /// Time for one byte; bare numbers are seconds per byte.
    SecondsPerByte,
    /// Data in a time; bare numbers are bytes per second.
    BytesPerSecond,
    /// A plain number.
    None,
}

impl Unit {
    /// The unit that the name of a shipped key implies.
    pub fn of_key(name: &str) -> Self {
        match name {
            "memory" | "fixed_memory" | "bytes" | "boundary" | "message" | "tcp_window"
            | "weight_size" => Self::Bytes,
            "instructions" => Self::Instructions,
            "window" | "load_window" | "owner_window" | "link_probes" | "base" | "tie_width"
            | "per_process" | "per_candidate" => Self::Seconds,
            "data_rate" | "fixed_rate" => Self::SecondsPerByte,
            _ => Self::None,
        }
    }

    /// All quantities that have units.
    pub const ALL: [Self; 5] = [
        Self::Bytes,
        Self::Instructions,
        Self::Seconds,
        Self::SecondsPerByte,
        Self::BytesPerSecond,
    ];

    /// Names of units that numbers of this quantity may have, for people.
    pub const fn names(self) -> &'static [&'static str] {
        match self {
            Self::Bytes => &["B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB"],
            Self::Instructions => &["instr", "kinstr", "Minstr", "Ginstr", "Tinstr"],
            Self::Seconds => &["ns", "us", "ms", "s", "min", "h", "d"],
            Self::SecondsPerByte => &["ns/B", "us/B", "ms/B", "s/B"],
            Self::BytesPerSecond => &["B/s", "kB/s", "MB/s", "GB/s", "KiB/s", "MiB/s", "GiB/s"],
            Self::None => &[],
        }
    }

    /// The accepted values, for an error message.
    pub const fn expected(self) -> &'static str {
        match self {
            Self::Bytes => "bytes, such as 900000 or \"900 kB\"",
            Self::Instructions => "instructions, such as 1e8 or \"100 Minstr\"",
            Self::Seconds => "seconds, such as 0.05 or \"50 ms\"",
            Self::SecondsPerByte => "seconds per byte, such as 2.1e-7 or \"0.21 us/B\"",
            Self::BytesPerSecond => "bytes per second, such as 3.2e8 or \"320 MB/s\"",
            Self::None => "a plain number",
        }
    }

    /// `number` in base units, if a run can count with it: its sums and products with amounts of 64 bits are finite.
    ///
    /// # Errors
    ///
    /// The rule that the number breaks.
    pub fn bounded(self, number: f64) -> Result<f64, String> {
        let (most, rule) = match self {
            Self::Seconds => (TIME_MAX, "must be at most 1e12 s"),
            Self::SecondsPerByte => (SLOWEST, "must be at most 1e6 s/B"),
            Self::BytesPerSecond => (FASTEST, "must be from 1e-6 to 1e30 B/s"),
            Self::Bytes => (BYTES_MAX, "must be at most 9 PB (2^53 bytes)"),
            Self::Instructions | Self::None => return Ok(number),
        };
        let is_slow =
            self == Self::BytesPerSecond && (f64::MIN_POSITIVE..1.0 / SLOWEST).contains(&number);
        match number {
            _ if number < -most => Err("must be at least 0".to_owned()),
            _ if is_slow || most < number => Err(rule.to_owned()),
            _ => Ok(number),
        }
    }

    /// The value of `text` in base units.
    ///
    /// # Errors
    ///
    /// The rule that the text breaks, as in "must be seconds".
    pub fn read(self, text: &str) -> Result<f64, String> {
        let (number, unit) =
            text::split(text).ok_or_else(|| format!("must be {}", self.expected()))?;
        let scale = self.scale(unit).ok_or_else(|| {
            let reason = self.suggestion(unit);
            let expected = self.expected();
            format!("unknown unit `{unit}`, must be {expected}{reason}")
        })?;
        self.bounded(scale.read(number))
    }

    fn scale(self, unit: &str) -> Option<Scale> {
        const LENGTHS: [text::Unit; 3] = [MINUTE, HOUR, DAY];
        const FRACTIONS: [text::Unit; 6] = [
            MILLISECOND,
            MICROSECOND,
            MICRO_SECOND,
            MU_SECOND,
            NANOSECOND,
            SECOND,
        ];
        if unit.is_empty() {
            return Some(Scale::ONE);
        }
        let rate = |per: &str| {
            let (amount, unit) = unit.split_once('/')?;
            (unit.trim() == per).then(|| amount.trim())
        };
        match self {
            Self::Bytes => find(unit, &[BYTE]),
            Self::Instructions => find(unit, &[INSTRUCTIONS, INSTRUCTION, FLOPS, FLOP]),
            Self::Seconds => find(unit, &FRACTIONS).or_else(|| find(unit, &LENGTHS)),
            Self::SecondsPerByte => find(rate("B")?, &FRACTIONS),
            Self::BytesPerSecond => find(rate("s")?, &[BYTE]),
            Self::None => None,
        }
    }

    fn suggestion(self, unit: &str) -> String {
        self.names()
            .iter()
            .map(|known| {
                (
                    strsim::damerau_levenshtein(&unit.to_lowercase(), &known.to_lowercase()),
                    known,
                )
            })
            .min_by_key(|(distance, _)| *distance)
            .filter(|(distance, _)| *distance <= 2)
            .map_or_else(String::new, |(_, known)| {
                format!("; did you mean `{known}`?")
            })
    }
}

/// The most bytes of a value: up to here floating-point numbers are exact, those of JSON, too, and 64 bits hold the sum of two
/// thousand such values.
const BYTES_MAX: f64 = 9_007_199_254_740_992.0;

/// Seconds, 32 000 years: a float still tells a tenth of a millisecond apart.
const TIME_MAX: f64 = 1e12;
/// Seconds for a byte: eleven days.
const SLOWEST: f64 = 1e6;
/// Bytes per second.
const FASTEST: f64 = 1e30;

/// A name and parameters, as they were written without the spaces around them.
///
/// Invariant: no key or value is empty, and no key is duplicated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named<'a> {
    /// The name.
    pub name: &'a str,
    /// Keys and values, in the order they were written.
    pub parameters: Vec<(&'a str, &'a str)>,
}

impl<'a> Named<'a> {
    /// Reads `text`; `example` is a valid one for messages.
    ///
    /// # Errors
    ///
    /// If a parameter is not `KEY=VALUE`, or a key is duplicated.
    pub fn read(text: &'a str, example: &str) -> Result<Self, String> {
        let (name, list) = match text.split_once(':') {
            None => (text, None),
            Some((name, list)) => (name, Some(list)),
        };
        let mut parameters: Vec<(&str, &str)> = Vec::new();
        for parameter in list.into_iter().flat_map(|list| list.split(',')) {
            let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let (key, value) = (key.trim(), value.trim());
            if key.is_empty() || value.is_empty() {
                let found = parameter.trim();
                return Err(format!(
                    "invalid parameter `{found}`: must be KEY=VALUE, as in {example}"
                ));
            }
            if let Some((_, first)) = parameters.iter().find(|(other, _)| *other == key) {
                return Err(format!("{key}: given twice, as `{first}` and as `{value}`"));
            }
            parameters.push((key, value));
        }
        let name = name.trim();
        Ok(Self { name, parameters })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::float_cmp, reason = "the nearest float is what is asked for")]
    fn units_scale_exactly() {
        assert_eq!(Unit::Bytes.read("900 kB"), Ok(900e3));
        assert_eq!(Unit::Bytes.read("4MiB"), Ok(4_194_304.0));
        assert_eq!(Unit::Seconds.read("50 us"), Ok(50e-6));
        assert_eq!(Unit::Seconds.read("4.6e0ms").unwrap(), 0.0046);
        assert_eq!(Unit::Seconds.read("15 min"), Ok(900.0));
        assert_eq!(Unit::Instructions.read("1.5 Ginstr"), Ok(1.5e9));
        assert_eq!(Unit::Instructions.read("1e8"), Ok(1e8));
        assert_eq!(Unit::SecondsPerByte.read("0.21 us/B"), Ok(0.21e-6));
        assert_eq!(Unit::BytesPerSecond.read("320 MB/s"), Ok(320e6));
        assert_eq!(Unit::BytesPerSecond.read("2 KiB/s"), Ok(2048.0));
        assert_eq!(Unit::Seconds.read("30 d"), Ok(2_592_000.0));
        assert_eq!(Unit::None.read("0.5"), Ok(0.5));
    }

    #[test]
    fn every_unit_with_a_name_is_read() {
        for quantity in Unit::ALL {
            assert!(!quantity.names().is_empty());
            for name in quantity.names() {
                assert!(quantity.read(&format!("1.5 {name}")).is_ok(), "{name}");
            }
        }
    }

    #[test]
    fn a_unit_of_another_quantity_is_refused() {
        assert_eq!(
            Unit::Bytes.read("900 KB").unwrap_err(),
            "unknown unit `KB`, must be bytes, such as 900000 or \"900 kB\"; did you mean `kB`?"
        );
        assert!(Unit::Bytes.read("50 us").is_err());
        assert!(Unit::None.read("5 s").is_err());
        assert!(Unit::Seconds.read("").is_err());
        assert!(Unit::Seconds.read("e5 s").is_err());
        assert!(Unit::Seconds.read("- s").is_err());
        assert!(Unit::Seconds.read("1.2.3 s").is_err());
    }

    #[test]
    fn a_name_may_have_parameters() {
        let read = |text| Named::read(text, "x:y=1").unwrap();
        assert_eq!((read(" a ").name, read("a").parameters.len()), ("a", 0));
        let named = read("a : b = 1,c=x=y ");
        assert_eq!(named.name, "a");
        assert_eq!(named.parameters, [("b", "1"), ("c", "x=y")]);
    }

    #[test]
    fn malformed_and_duplicate_parameters_are_refused() {
        let fault = |text| Named::read(text, "x:y=1").unwrap_err();
        for text in ["a:", "a:b", "a:b=", "a:=1", "a:b=1,", "a:,b=1"] {
            let fault = fault(text);
            assert!(fault.ends_with("must be KEY=VALUE, as in x:y=1"), "{fault}");
        }
        let twice = "b: given twice, as `1` and as `2`";
        assert_eq!(fault("a:b=1,c=3, b =2"), twice);
    }
}
