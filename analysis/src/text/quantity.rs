//! Durations and amounts of data for people, in the units that experiment files read.

use bsp::units::Bytes;

/// `seconds` that something took: three digits with a unit below a minute, then two units.
pub fn duration(seconds: f64) -> String {
    let size = seconds.abs();
    let (scale, unit) = match size {
        // Shorter times are rounding.
        ..1e-9 => return "0 s".to_owned(),
        ..1e-6 => (1e9, "ns"),
        ..1e-3 => (1e6, "us"),
        ..1.0 => (1e3, "ms"),
        ..60.0 => (1.0, "s"),
        _ => return age(seconds),
    };
    let shown = three_digits(seconds * scale);
    match (shown.as_str(), unit) {
        ("1000", "ns") => "1 us".to_owned(),
        ("1000", "us") => "1 ms".to_owned(),
        ("1000", "ms") => "1 s".to_owned(),
        ("60", "s") => "1 min".to_owned(),
        _ => format!("{shown} {unit}"),
    }
}

/// `seconds` since something began, in whole seconds: two units at most, as in "2 h 4 min".
pub fn age(seconds: f64) -> String {
    const UNITS: [(f64, &str); 4] = [(86_400.0, "d"), (3_600.0, "h"), (60.0, "min"), (1.0, "s")];
    if !seconds.is_finite() {
        return format!("{seconds} s");
    }
    let sign = if seconds <= -0.5 { "-" } else { "" };
    let whole = seconds.abs().round();
    let first = UNITS.iter().position(|(size, _)| *size <= whole);
    let Some(first) = first.filter(|first| *first < 3) else {
        return format!("{sign}{whole} s");
    };
    let ((size, unit), (part, next)) = (UNITS[first], UNITS[first + 1]);
    // Rounding may carry: 59 min 59.7 s are an hour.
    let parts = (whole / part).round();
    let (count, rest) = ((parts / (size / part)).floor(), parts % (size / part));
    if first == 0 || count < UNITS[first - 1].0 / size {
        let rest = if rest < 1.0 {
            String::new()
        } else {
            format!(" {rest} {next}")
        };
        format!("{sign}{count} {unit}{rest}")
    } else {
        format!("{sign}1 {}", UNITS[first - 1].1)
    }
}

/// `bytes` of data: three digits with a decimal unit.
pub fn data(bytes: f64) -> String {
    let mut scaled = bytes;
    for unit in ["B", "kB", "MB", "GB", "TB"] {
        if scaled.abs() < 999.5 {
            return format!("{} {unit}", three_digits(scaled));
        }
        scaled /= 1e3;
    }
    format!("{} PB", three_digits(scaled))
}

/// How much of all has been transferred, after `number` of `of` parts with `bytes` together.
pub fn transferred(bytes: u64, number: usize, of: usize) -> String {
    let parts = |number: usize| f64::from(u32::try_from(number).unwrap_or(u32::MAX));
    let bytes = Bytes(bytes).as_f64();
    if number == 0 || number == of {
        return data(bytes);
    }
    format!(
        "{} of about {}",
        data(bytes),
        data(bytes / parts(number) * parts(of))
    )
}

/// A number with three digits, without zeros at the end of a fraction.
fn three_digits(number: f64) -> String {
    let decimals = match number.abs() {
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    let text = format!("{number:.decimals$}");
    if decimals == 0 {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_digits_or_two_units() {
        for (seconds, text) in [
            (0.0, "0 s"),
            (6.577e-16, "0 s"),
            (12.34e-9, "12.3 ns"),
            (999.9e-9, "1 us"),
            (0.087_16, "87.2 ms"),
            (0.999_96, "1 s"),
            (1.0, "1 s"),
            (59.96, "1 min"),
            (59.94, "59.9 s"),
            (200.0, "3 min 20 s"),
            (7_440.0, "2 h 4 min"),
            (-7_440.0, "-2 h 4 min"),
            (-0.5, "-500 ms"),
            (f64::INFINITY, "inf s"),
        ] {
            assert_eq!(duration(seconds), text, "{seconds}");
        }
    }

    #[test]
    fn ages_are_whole_seconds_in_two_units() {
        for (seconds, text) in [
            (1e-2, "0 s"),
            (42.4, "42 s"),
            (59.7, "1 min"),
            (180.0, "3 min"),
            (3_599.6, "1 h"),
            (7_440.0, "2 h 4 min"),
            (7_199.0, "2 h"),
            (86_399.0, "1 d"),
            (172_800.0, "2 d"),
            (100_000.0, "1 d 4 h"),
            (1e9, "11574 d 2 h"),
        ] {
            assert_eq!(age(seconds), text, "{seconds}");
        }
    }

    #[test]
    fn what_is_still_to_be_transferred_is_estimated_from_the_parts_that_were() {
        assert_eq!(transferred(0, 0, 64), "0 B");
        assert_eq!(transferred(520_093_696, 31, 64), "520 MB of about 1.07 GB");
        assert_eq!(transferred(1_073_741_824, 64, 64), "1.07 GB");
    }

    #[test]
    fn data_has_a_decimal_unit() {
        for (bytes, text) in [
            (0.0, "0 B"),
            (75_000.0, "75 kB"),
            (999_600.0, "1 MB"),
            (22_500_000.0, "22.5 MB"),
            (1.234e9, "1.23 GB"),
            (5e18, "5000 PB"),
        ] {
            assert_eq!(data(bytes), text, "{bytes}");
        }
    }
}
