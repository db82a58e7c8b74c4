use std::path::Path;

use bsp::units::Instant;
use settings::Fault;

use crate::level::Level;
use crate::schedule::{Change, LevelSchedule};

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
    let fault = |key, met: &str, rule| Fault::invalid(Some(place), key, met, rule);
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
