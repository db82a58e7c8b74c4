//! Numbers with units as text: `900 kB`, `1.5 Gf`, `50 us`.
//!
//! One table of units and prefixes for all files. Which of them a number may have is the reader's affair, and so is how
//! it is scaled: [`Scale::read`] gives the float nearest to the decimal number, [`Scale::multiply`] the one that SimGrid
//! computes. They differ in the last digit (`50 us`).

use std::iter::once;

/// The size of a unit: a power of ten times a factor, and their product.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    exponent: i32,
    factor: f64,
    size: f64,
}

/// A unit and the prefixes that it may have.
#[derive(Clone, Copy, Debug)]
pub struct Unit {
    /// Without a prefix.
    pub name: &'static str,
    scale: Scale,
    prefixes: &'static [Prefixes],
}

/// Prefixes in ascending order, each one step above the one before it.
#[derive(Clone, Copy, Debug)]
struct Prefixes {
    names: &'static [&'static str],
    step: Scale,
}

/// A number and the unit behind it, which may be empty; `None`: it does not begin with a number. An `E` without digits
/// behind it begins a unit: `1EB`.
#[must_use]
pub fn split(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        let rest = bytes.get(from..).unwrap_or_default();
        rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
    };
    let is = |at: usize, any: &[u8]| bytes.get(at).is_some_and(|byte| any.contains(byte));
    let start = usize::from(is(0, b"+-"));
    let whole = digits(start);
    let mut end = start + whole;
    if is(end, b".") {
        let fraction = digits(end + 1);
        if whole == 0 && fraction == 0 {
            return None;
        }
        end += 1 + fraction;
    } else if whole == 0 {
        return None;
    }
    if is(end, b"eE") {
        let exponent = end + 1 + usize::from(is(end + 1, b"+-"));
        let length = digits(exponent);
        if 0 < length {
            end = exponent + length;
        }
    }
    Some((&text[..end], text[end..].trim()))
}

/// The size of the unit that `text` is; `None`: it is none of `units`, with any of its prefixes.
#[must_use]
pub fn find(text: &str, units: &[Unit]) -> Option<Scale> {
    units.iter().find_map(|unit| {
        let found = text.strip_suffix(unit.name)?;
        let mut spellings = unit.spellings();
        spellings.find_map(|(prefix, scale)| (prefix == found).then_some(scale))
    })
}

impl Unit {
    /// Its prefixes, the empty one first, with its sizes.
    pub fn spellings(&self) -> impl Iterator<Item = (&'static str, Scale)> + use<> {
        let scale = self.scale;
        let prefixed = self.prefixes.iter().flat_map(move |prefixes| {
            prefixes.names.iter().scan(scale, |scale, prefix| {
                scale.exponent += prefixes.step.exponent;
                scale.factor *= prefixes.step.factor;
                scale.size *= prefixes.step.size;
                Some((*prefix, *scale))
            })
        });
        once(("", scale)).chain(prefixed)
    }
}

impl Scale {
    /// The size of the base unit.
    pub const ONE: Self = times(1.0);

    /// The float nearest to `number`, a decimal number, times this power of ten; times the factor, which may round.
    ///
    /// # Panics
    ///
    /// If [`split`] does not give such a number.
    #[must_use]
    pub fn read(self, number: &str) -> f64 {
        let (mantissa, own) = number
            .split_once(['e', 'E'])
            .map_or((number, 0), |(mantissa, own)| {
                (mantissa, own.parse::<i32>().unwrap_or(i32::MAX))
            });
        let exponent = own.saturating_add(self.exponent);
        // The decimal text as a whole is read, so that "50 us" is the float nearest to 50e-6.
        let scaled: f64 = format!("{mantissa}e{exponent}")
            .parse()
            .expect("a decimal number with an exponent is a number");
        scaled * self.factor
    }

    /// `number` times the float that is nearest to this size, as SimGrid multiplies.
    #[must_use]
    pub const fn multiply(self, number: f64) -> f64 {
        number * self.size
    }
}

const fn unit(name: &'static str, scale: Scale, prefixes: &'static [Prefixes]) -> Unit {
    Unit {
        name,
        scale,
        prefixes,
    }
}

/// `size` is the power of ten.
const fn ten_to(exponent: i32, size: f64) -> Scale {
    Scale {
        exponent,
        factor: 1.0,
        size,
    }
}

const fn times(factor: f64) -> Scale {
    Scale {
        exponent: 0,
        factor,
        size: factor,
    }
}

const DECIMAL: Prefixes = Prefixes {
    names: &["k", "M", "G", "T", "P", "E", "Z", "Y"],
    step: ten_to(3, 1e3),
};
const BINARY: Prefixes = Prefixes {
    names: &["Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi"],
    step: times(1024.0),
};
const WORDS: Prefixes = Prefixes {
    names: &[
        "kilo", "mega", "giga", "tera", "peta", "exa", "zetta", "yotta",
    ],
    step: ten_to(3, 1e3),
};
/// SimGrid's parser spells it so.
const ZETA: Prefixes = Prefixes {
    names: &["zeta"],
    step: ten_to(21, 1e21),
};

/// Bytes.
pub const BYTE: Unit = unit("B", Scale::ONE, &[DECIMAL, BINARY]);
/// Instructions.
pub const INSTRUCTION: Unit = unit("instr", Scale::ONE, &[DECIMAL]);
/// The same.
pub const INSTRUCTIONS: Unit = unit("instructions", Scale::ONE, &[DECIMAL]);
/// Floating-point operations, which count as instructions; in SimGrid's files, those of a second.
pub const FLOP: Unit = unit("f", Scale::ONE, &[DECIMAL]);
/// The same.
pub const FLOPS: Unit = unit("flops", Scale::ONE, &[DECIMAL, WORDS, ZETA]);
/// Instructions per second.
pub const INSTRUCTIONS_PER_SECOND: Unit = unit("instr/s", Scale::ONE, &[DECIMAL]);
/// Bytes per second.
pub const BYTES_PER_SECOND: Unit = unit("B/s", Scale::ONE, &[DECIMAL, BINARY]);
/// The same, as SimGrid writes it.
pub const BPS: Unit = unit("Bps", Scale::ONE, &[DECIMAL, BINARY]);
/// Bits per second.
pub const BITS_PER_SECOND: Unit = unit("bit/s", times(0.125), &[DECIMAL, BINARY]);
/// The same, as SimGrid writes it.
pub const BITPS: Unit = unit("bps", times(0.125), &[DECIMAL, BINARY]);
/// Seconds.
pub const SECOND: Unit = unit("s", Scale::ONE, &[]);
/// Thousandths of a second.
pub const MILLISECOND: Unit = unit("ms", ten_to(-3, 1e-3), &[]);
/// Millionths of a second.
pub const MICROSECOND: Unit = unit("us", ten_to(-6, 1e-6), &[]);
/// The same, with the sign for micro.
pub const MICRO_SECOND: Unit = unit("µs", ten_to(-6, 1e-6), &[]);
/// The same, with the Greek letter.
pub const MU_SECOND: Unit = unit("μs", ten_to(-6, 1e-6), &[]);
/// Billionths of a second.
pub const NANOSECOND: Unit = unit("ns", ten_to(-9, 1e-9), &[]);
/// 10⁻¹² seconds.
pub const PICOSECOND: Unit = unit("ps", ten_to(-12, 1e-12), &[]);
/// Minutes.
pub const MINUTE: Unit = unit("min", times(60.0), &[]);
/// The same, as SimGrid writes it.
pub const SHORT_MINUTE: Unit = unit("m", times(60.0), &[]);
/// Hours.
pub const HOUR: Unit = unit("h", times(3600.0), &[]);
/// Days.
pub const DAY: Unit = unit("d", times(86_400.0), &[]);
/// Weeks.
pub const WEEK: Unit = unit("w", times(604_800.0), &[]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_ends_where_its_unit_begins() {
        for (text, parts) in [
            ("900 kB", Some(("900", "kB"))),
            (" 1.5Ginstr ", Some(("1.5", "Ginstr"))),
            ("1e3s", Some(("1e3", "s"))),
            ("1E-3 s", Some(("1E-3", "s"))),
            ("1EB", Some(("1", "EB"))),
            ("-.5", Some(("-.5", ""))),
            ("+1.", Some(("+1.", ""))),
            ("5e", Some(("5", "e"))),
            ("1.2.3 s", Some(("1.2", ".3 s"))),
            ("", None),
            ("- s", None),
            (".", None),
            ("e5 s", None),
            ("µs", None),
        ] {
            assert_eq!(split(text), parts, "{text}");
        }
    }

    #[test]
    fn sizes_are_read_or_multiplied() {
        let micro = find("us", &[SECOND, MICROSECOND]).unwrap();
        assert_eq!(micro.read("50").to_bits(), 50e-6_f64.to_bits());
        assert_eq!(micro.multiply(50.0).to_bits(), (50.0 * 1e-6_f64).to_bits());
        let same = |text: &str, unit: Unit, size: f64| {
            let found = find(text, &[unit]).unwrap();
            assert_eq!(found.read("1").to_bits(), size.to_bits(), "{text}");
            assert_eq!(found.multiply(1.0).to_bits(), size.to_bits(), "{text}");
        };
        same("MiB", BYTE, 1_048_576.0);
        same("Mbit/s", BITS_PER_SECOND, 125e3);
        same("zetaflops", FLOPS, 1e21);
        same("YBps", BPS, 1e24);
        assert_eq!(find("KB", &[BYTE]), None);
        assert_eq!(find("", &[BYTE]), None);
    }
}
