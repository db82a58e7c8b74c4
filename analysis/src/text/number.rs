//! Numbers as text for people.

/// `number` with this many `decimals`, or with an exponent if that would show too few digits or too many.
pub fn rounded(number: f64, decimals: u8) -> String {
    let size = number.abs();
    let least = 10_f64.powi(1 - i32::from(decimals)).min(0.1);
    if size == 0.0 || (least..1e9).contains(&size) {
        format!("{number:.*}", usize::from(decimals))
    } else {
        format!("{number:.*e}", usize::from(decimals))
    }
}

/// `number` with the noun `name`.
pub fn counted(number: usize, name: &str) -> String {
    match (number, name.ends_with('s')) {
        (1, _) => format!("1 {name}"),
        (_, true) => format!("{number} {name}es"),
        (_, false) => format!("{number} {name}s"),
    }
}

/// A saving or a cost of `seconds` in a run of `of_seconds`; what is within rounding is nothing.
pub fn significant(seconds: f64, of_seconds: f64) -> f64 {
    if seconds.abs() <= of_seconds.abs() * ROUNDED {
        0.0
    } else {
        seconds
    }
}

/// Part of a makespan that counts as rounding.
const ROUNDED: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_numbers_stay_readable() {
        assert_eq!(rounded(0.0, 3), "0.000");
        assert_eq!(rounded(0.018_49, 3), "0.018");
        assert_eq!(rounded(-678.476_4, 3), "-678.476");
        assert_eq!(rounded(0.000_123_4, 3), "1.234e-4");
        assert_eq!(rounded(0.9, 1), "0.9");
        assert_eq!(rounded(5_155_463_917_530.8, 3), "5.155e12");
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "values are passed on or are zero")]
    fn rounding_errors_are_no_seconds() {
        assert_eq!(significant(6.577e-16, 5.0), 0.0);
        assert_eq!(significant(-1e-12, 5.0), 0.0);
        assert_eq!(significant(0.0, 0.0), 0.0);
        assert_eq!(significant(1e-6, 5.0), 1e-6);
        assert_eq!(significant(6.577e-16, 0.0), 6.577e-16);
    }
}
