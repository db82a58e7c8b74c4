//! Loads of real machines, in a file.

use std::collections::BTreeMap;
use std::path::Path;

use bsp::HostId;
use bsp::numbers::index;
use bsp::units::Seconds;
use simulator::{Discipline, Job, Jobs, Platform, Point, Profile};

use settings::Fault;

use crate::platform::find_hosts;

/// Reads a trace, a CSV file with the header `host,start,end` or `host,start,end,utilisation`, and puts the load on the
/// hosts of `platform`. Lines that begin with `#` are comments.
///
/// A line without a utilisation is a job that occupies a core from `start` to `end` if it has the core for itself; so a
/// host has no more lines at a time than cores. A utilisation is the part of all cores of the host that is taken. Then
/// the lines of a host follow each other without gaps from zero on. After the last line, or at `period`, the host is
/// idle, or the trace begins again.
///
/// # Errors
///
/// If the file cannot be read, or a line is invalid: file, line and rule.
pub(super) fn apply(
    platform: Platform,
    file: &Path,
    discipline: Option<Discipline>,
    period: Option<Seconds>,
) -> Result<Platform, Fault> {
    let name = settings::name_of(file);
    let fault = |problem: String| Fault::new(Some(&name), "", problem);
    let bytes = settings::read_bytes(file);
    let bytes = bytes.map_err(|error| Fault::new(Some(&name), "load.file", error))?;
    let text = settings::text(bytes).map_err(|error| fault(error.to_string()))?;
    let trace = Trace::read(&name, &text, &platform)?;
    trace.apply(platform, &name, discipline, period)
}

/// The lines of a trace, by host in the order of their starts.
#[derive(Debug)]
struct Trace {
    has_utilisations: bool,
    hosts: BTreeMap<HostId, Vec<Line>>,
}

#[derive(Clone, Copy, Debug)]
struct Line {
    /// Its number in the file, from 1.
    number: u64,
    start: f64,
    end: f64,
    utilisation: f64,
}

impl Trace {
    fn read(name: &str, text: &str, platform: &Platform) -> Result<Self, Fault> {
        // Blanks around a line, or alone in it, are nothing. A comment ends with its line.
        let lines = text.lines().map(|line| format!("{}\n", line.trim()));
        let text = &lines.collect::<String>();
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .comment(Some(b'#'))
            .trim(csv::Trim::All)
            .from_reader(text.as_bytes());
        let mut records = reader.records();
        // The position of a record is that of the comments before it.
        let mut numbers = (1_u64..)
            .zip(text.lines())
            .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
            .map(|(number, _)| number)
            .skip(1);
        let broken = |error: csv::Error| Fault::new(Some(name), "", error);
        let header = records.next().transpose().map_err(broken)?;
        let header: Vec<String> = header
            .iter()
            .flat_map(|header| header.iter().map(str::to_owned))
            .collect();
        let has_utilisations = header.len() == HEADER.len();
        if !HEADER.starts_with(&header.iter().map(String::as_str).collect::<Vec<_>>())
            || header.len() + 1 < HEADER.len()
        {
            let problem =
                "must begin with the line `host,start,end` or `host,start,end,utilisation`";
            return Err(Fault::new(Some(name), "", problem));
        }
        let mut hosts: BTreeMap<HostId, Vec<Line>> = BTreeMap::new();
        for record in records {
            let record = record.map_err(broken)?;
            let number = numbers.next().unwrap_or_default();
            let columns = header.len();
            let (named, line) = line((name, number), &record, columns, platform)?;
            for host in named {
                hosts.entry(host).or_default().push(line);
            }
        }
        for lines in hosts.values_mut() {
            lines.sort_by(|one, other| one.start.total_cmp(&other.start));
        }
        if hosts.is_empty() {
            return Err(Fault::new(Some(name), "", "has no line after the first"));
        }
        Ok(Self {
            has_utilisations,
            hosts,
        })
    }

    fn apply(
        self,
        mut platform: Platform,
        name: &str,
        discipline: Option<Discipline>,
        period: Option<Seconds>,
    ) -> Result<Platform, Fault> {
        if let (true, Some(_)) = (self.has_utilisations, discipline) {
            let problem =
                "a trace with utilisations takes no discipline: its load does not depend on ours";
            return Err(Fault::new(Some(name), "load.discipline", problem));
        }
        for (host, lines) in self.hosts {
            let at = |line: &Line| format!("{name}:{}", line.number);
            let fault = |line: &Line, problem: String| Fault::new(Some(&at(line)), "", problem);
            let last = lines
                .iter()
                .max_by(|one, other| one.end.total_cmp(&other.end));
            let last = *last.expect("a host has a line");
            if let Some(period) = period.filter(|period| period.get() < last.end) {
                let problem = format!(
                    "ends at {} s, must not be after `load.period`, {} s",
                    last.end,
                    period.get()
                );
                return Err(fault(&last, problem));
            }
            let result = if self.has_utilisations {
                let profile =
                    profile(&lines, period).map_err(|(line, problem)| fault(&line, problem))?;
                platform.with_load(host, profile)
            } else {
                let cores = platform.host(host).cores;
                let jobs = jobs(&lines, cores).map_err(|(line, problem)| fault(&line, problem))?;
                let discipline = discipline.unwrap_or(Discipline::Shared);
                let jobs = Jobs::new(jobs, period, discipline)
                    .map_err(|error| Fault::new(Some(name), "", error))?;
                platform.with_jobs(host, jobs)
            };
            platform = result.map_err(|error| fault(&lines[0], error.to_string()))?;
        }
        Ok(platform)
    }
}

/// The line of a file with that name and number, and its hosts.
fn line(
    (name, number): (&str, u64),
    record: &csv::StringRecord,
    columns: usize,
    platform: &Platform,
) -> Result<(Vec<HostId>, Line), Fault> {
    let place = format!("{name}:{number}");
    let fault = |key, found: &str, rule: &str| Fault::invalid(Some(&place), key, found, rule);
    if record.len() != columns {
        let found: Vec<&str> = record.iter().collect();
        let rule = format!("must have the {columns} columns of the first line");
        return Err(fault("", &found.join(","), &rule));
    }
    let hosts = find_hosts(&record[0], platform)
        .map_err(|problem| Fault::new(Some(&place), "host", problem))?;
    let seconds = |column: usize| {
        let rule = "must be a number of seconds from 0 to 1e9, without a unit";
        number_in(&record[column], SECONDS_MAX)
            .ok_or_else(|| fault(HEADER[column], &record[column], rule))
    };
    let (start, end) = (seconds(1)?, seconds(2)?);
    if end <= start {
        let rule = format!("must be after {start}, the start of the line");
        return Err(fault("end", &record[2], &rule));
    }
    let utilisation = record.get(3).map_or(Ok(1.0), |text| {
        number_in(text, 1.0)
            .ok_or_else(|| fault("utilisation", text, "must be a number from 0 to 1"))
    })?;
    let line = Line {
        number,
        start,
        end,
        utilisation,
    };
    Ok((hosts, line))
}

/// The utilisations of a host, in the order of time.
fn profile(lines: &[Line], period: Option<Seconds>) -> Result<Profile, (Line, String)> {
    let mut until = 0.0;
    let mut points = Vec::new();
    for line in lines {
        if line.start < until {
            let problem = format!("overlaps the line before, which ends at {until} s");
            return Err((*line, problem));
        }
        if until < line.start {
            let problem = format!(
                "leaves a gap from {until} s to {} s: state a utilisation of 0 where a host is idle",
                line.start
            );
            return Err((*line, problem));
        }
        points.push(Point {
            date: line.start,
            value: line.utilisation,
        });
        until = line.end;
    }
    // The host is idle from the last line to the end of the period, or for ever.
    if period.is_none_or(|period| until < period.get()) {
        points.push(Point {
            date: until,
            value: 0.0,
        });
    }
    Ok(Profile::new(points, period).expect("dates increase, and the period ends after them"))
}

/// The jobs of a host, in the order of their arrival.
fn jobs(lines: &[Line], cores: u32) -> Result<Vec<Job>, (Line, String)> {
    let cores = index(cores);
    let mut ends: Vec<f64> = Vec::new();
    for line in lines {
        ends.retain(|end| line.start < *end);
        if ends.len() == cores {
            let problem = format!(
                "is one of {} lines of its host at {} s, must be at most {cores}, one for each core",
                cores + 1,
                line.start
            );
            return Err((*line, problem));
        }
        ends.push(line.end);
    }
    let job = |line: &Line| Job {
        arrival: line.start,
        work: line.end - line.start,
    };
    Ok(lines.iter().map(job).collect())
}

fn number_in(text: &str, most: f64) -> Option<f64> {
    let number = text.parse().ok()?;
    (0.0..=most).contains(&number).then_some(number)
}

const HEADER: [&str; 4] = ["host", "start", "end", "utilisation"];
/// 32 years.
const SECONDS_MAX: f64 = 1e9;

#[cfg(test)]
mod tests {
    use super::*;

    fn platform() -> Platform {
        let text =
            "[[set]]\nname = 'a'\nhosts = 2\nspeed = 1e9\ncores = 2\nlink = { bandwidth = 1e8 }";
        Platform::from_toml(text).unwrap()
    }

    fn read(text: &str, period: Option<f64>) -> Result<Platform, String> {
        let platform = platform();
        let period = period.map(|period| Seconds::new(period).unwrap());
        let trace = Trace::read("f", text, &platform).map_err(|fault| fault.to_string())?;
        trace
            .apply(platform, "f", None, period)
            .map_err(|fault| fault.to_string())
    }

    #[test]
    fn jobs_and_utilisations_are_read() {
        let platform = read("# a day\nhost,start,end\na-2, 5, 7\na-2,0,9\n", None).unwrap();
        let job = |arrival, work| Job { arrival, work };
        let jobs = platform.hosts()[1].jobs.as_ref().unwrap();
        assert_eq!(jobs.jobs(), [job(0.0, 9.0), job(5.0, 2.0)]);
        assert!(platform.hosts()[0].jobs.is_none());
        let text = " # a day\n\t\nhost,start,end\n \n a-1..2,0,9\n  # b\n";
        let platform = read(text, None).unwrap();
        let jobs = platform
            .hosts()
            .iter()
            .map(|host| host.jobs.as_ref().unwrap().jobs());
        assert!(jobs.eq([&[job(0.0, 9.0)][..]; 2]));
        let text = "host,start,end,utilisation\na-1,0,2,0.5\na-1,2,4,0.25\n";
        let point = |date, value| Point { date, value };
        let once = read(text, None).unwrap();
        let points = once.hosts()[0].load.as_ref().unwrap().points().to_vec();
        assert_eq!(points, [point(0.0, 0.5), point(2.0, 0.25), point(4.0, 0.0)]);
        let again = read(text, Some(4.0)).unwrap();
        assert_eq!(
            again.hosts()[0].load.as_ref().unwrap().points(),
            &points[..2]
        );
    }

    #[test]
    fn faults_name_line_and_rule() {
        let three = "host,start,end\n";
        let four = "host,start,end,utilisation\n";
        let cases = [
            (
                "",
                "",
                "must begin with the line `host,start,end` or `host,start,end,utilisation`",
            ),
            ("host,end,start\n", "", "must begin with the line"),
            (three, "", "has no line after the first"),
            (three, "b,0,1", "f:2"),
            ("# a\n\nhost,start,end\n", "# b\n\na-1,0,1\n#\nb,0,1", "f:8"),
            (
                " # a\n \nhost,start,end\n",
                " # b\n \na-1,0,1\n #\nb,0,1",
                "f:8",
            ),
            (
                three,
                "a-1..3,0,1",
                "the platform has no host \"a-3\"\n  --> f:2",
            ),
            (
                three,
                "a-1..,0,1",
                "invalid value `a-1..` for `range of names`",
            ),
            (three, "a-1,0", "must have the 3 columns of the first line"),
            (three, "a-1,1,1", "must be after 1, the start of the line"),
            (
                three,
                "a-1,-1,1",
                "must be a number of seconds from 0 to 1e9, without a unit",
            ),
            (three, "a-1,nan,1", "must be a number of seconds"),
            (
                three,
                "a-1,0,9\na-1,1,9\na-1,2,9",
                "is one of 3 lines of its host at 2 s, must be at most 2, one for each core\n  --> f:4",
            ),
            (four, "a-1,0,1,1.5", "must be a number from 0 to 1"),
            (
                four,
                "a-1,0,2,1\na-1,1,3,0.5",
                "overlaps the line before, which ends at 2 s\n  --> f:3",
            ),
            (
                four,
                "a-1,1,2,1",
                "leaves a gap from 0 s to 1 s: state a utilisation of 0 where a host is idle\n  --> f:2",
            ),
            (
                four,
                "a-1,0,1,1\na-1,2,3,1",
                "leaves a gap from 1 s to 2 s: state a utilisation of 0 where a host is idle\n  --> f:3",
            ),
        ];
        for (header, lines, expected) in cases {
            let error = read(&format!("{header}{lines}"), None).unwrap_err();
            assert!(error.contains(expected), "{lines}: {error}");
        }
        let late = read("host,start,end\na-1,0,9\n", Some(5.0)).unwrap_err();
        assert!(
            late.contains("ends at 9 s, must not be after `load.period`, 5 s"),
            "{late}"
        );
    }
}
