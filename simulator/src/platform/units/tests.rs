//! Which texts are quantities.

use super::*;

#[test]
fn units_are_those_of_simgrid() {
    for (text, value) in [
        ("1.59Gf", 1.59 * 1e9),
        ("1 Ginstr/s", 1e9),
        ("2kiloflops", 2e3),
        ("3zetaflops", 3e21),
        ("1e9", 1e9),
        ("1Ef", 1e18),
        ("1E2f", 100.0),
    ] {
        assert_eq!(
            speed(text).unwrap().get().to_bits(),
            f64::to_bits(value),
            "{text}"
        );
    }
    for (text, value) in [
        ("12.5MBps", 12.5e6),
        ("100 Mbps", 100.0 * 0.125e6),
        ("1kBps", 1e3),
        ("1KiBps", 1024.0),
        ("8Kibps", 1024.0),
        ("1EBps", 1e18),
    ] {
        assert_eq!(
            bandwidth(text).unwrap().get().to_bits(),
            f64::to_bits(value),
            "{text}"
        );
    }
    for (text, value) in [
        ("50us", 50.0 * 1e-6),
        ("0", 0.0),
        ("1.5 m", 90.0),
        ("2 min", 120.0),
    ] {
        assert_eq!(
            time(text).unwrap().get().to_bits(),
            f64::to_bits(value),
            "{text}"
        );
    }
}

#[test]
fn unknown_units_suggest_the_nearest_one() {
    assert_eq!(
        bandwidth("12KBps").unwrap_err().to_string(),
        "invalid value `12KBps`: unknown unit `KBps` (did you mean `kBps`?), \
         must be a bandwidth such as `12.5 MBps` or `100 Mbps`"
    );
    assert_eq!(
        time("5 sec").unwrap_err().to_string(),
        "invalid value `5 sec`: unknown unit `sec`, must be a time such as `50 us` or `1 ms`"
    );
    assert_eq!(
        speed("fast").unwrap_err().to_string(),
        "invalid value `fast`: must be a speed such as `1.5 Gf` or `1.5 Ginstr/s`"
    );
}

#[test]
fn rates_must_be_positive_and_times_not_negative() {
    assert_eq!(
        speed("0Gf").unwrap_err().to_string(),
        "invalid value `0Gf`: must be positive"
    );
    assert_eq!(
        bandwidth("-1MBps").unwrap_err().to_string(),
        "invalid value `-1MBps`: must be positive"
    );
    assert_eq!(
        time("-1s").unwrap_err().to_string(),
        "invalid value `-1s`: must be at least 0"
    );
    assert_eq!(
        speed("1e999").unwrap_err().to_string(),
        "invalid value `1e999`: must be a finite number"
    );
    assert!(speed("nan").is_err() && speed("inf").is_err());
}

#[test]
fn values_that_no_simulation_can_count_with_are_refused() {
    let message = |result: Result<f64, QuantityError>| result.unwrap_err().to_string();
    for text in ["1e-320MBps", "0.9e-6", "1.1e30"] {
        assert_eq!(
            message(bandwidth(text).map(BytesPerSecond::get)),
            format!("invalid value `{text}`: must be from 1e-6 to 1e30 bytes per second")
        );
    }
    for text in ["1e-320Gf", "0.9e-6", "1.1e30"] {
        assert_eq!(
            message(speed(text).map(InstructionsPerSecond::get)),
            format!("invalid value `{text}`: must be from 1e-6 to 1e30 instructions per second")
        );
    }
    for text in ["1e-320", "0.9e-30", "1e19us", "1.1e9"] {
        assert_eq!(
            message(time(text).map(Seconds::get)),
            format!("invalid value `{text}`: must be 0, or from 1e-30 to 1e9 seconds")
        );
    }
    for text in ["1e-6", "1e30"] {
        assert!(bandwidth(text).is_ok() && speed(text).is_ok());
    }
    for text in ["0", "-0.0", "1e-30", "1e9"] {
        assert!(time(text).is_ok(), "{text}");
    }
}
