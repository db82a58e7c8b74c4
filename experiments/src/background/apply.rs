//! Background load on hosts and links of a platform.

use std::collections::{BTreeMap, BTreeSet};

use bsp::HostId;
use bsp::numbers::whole;
use bsp::units::Seconds;
use simulator::{
    Discipline, Job, Jobs, LinkId, Platform, PlatformErrorKind, Point, Profile, expand,
};
use workloads::background::{Background, OwnerJobs, OwnerLoad, Target, Trace};

use settings::nearest;

/// `platform` with a load on hosts of the Sets that are `named`, or of all.
///
/// # Errors
///
/// If a Set does not exist, a host has a load already, or there would be too much to draw.
pub(super) fn hosts(
    mut platform: Platform,
    background: &Background,
    seed: u64,
    named: Option<&[String]>,
) -> Result<Platform, String> {
    let numbers = numbers_of_hosts(&platform, named)?;
    check_amount(&numbers, background.steps(), ("hosts", "steps"))?;
    for (number, trace) in background.traces(seed, Target::Hosts, &numbers) {
        platform = platform
            .with_load(HostId(number), profile(&trace, |taken| taken))
            .map_err(|fault| two_loads(&fault))?;
    }
    Ok(platform)
}

/// `platform` with jobs of the owners of hosts of the Sets that are `named`, or of all.
///
/// # Errors
///
/// As [`hosts`].
pub(super) fn jobs(
    mut platform: Platform,
    (owners, discipline): (&OwnerLoad, Discipline),
    seed: u64,
    named: Option<&[String]>,
) -> Result<Platform, String> {
    let numbers = numbers_of_hosts(&platform, named)?;
    let cores = |number: u32| platform.host(HostId(number)).cores;
    let most = numbers.iter().map(|number| cores(*number)).max();
    let expected = owners.expected_jobs(most.unwrap_or(1)).ceil();
    check_amount(&numbers, whole(expected), ("hosts", "jobs"))?;
    let drawn: Vec<(u32, OwnerJobs)> = owners.jobs(seed, &numbers, cores).collect();
    for (number, owner) in drawn {
        let jobs = owner.jobs.iter().map(|job| Job {
            arrival: job.arrival,
            work: job.lifetime,
        });
        let jobs = Jobs::new(jobs.collect(), Some(owner.period), discipline)
            .expect("jobs are drawn in order, within their period");
        platform = platform
            .with_jobs(HostId(number), jobs)
            .map_err(|fault| two_loads(&fault))?;
    }
    Ok(platform)
}

/// The hosts of the Sets that are `named`, or all.
fn numbers_of_hosts(platform: &Platform, named: Option<&[String]>) -> Result<Vec<u32>, String> {
    let sets: Vec<&str> = platform
        .sets()
        .iter()
        .map(|set| set.name.as_str())
        .collect();
    let named = named
        .map(|patterns| named_sets(patterns, &sets))
        .transpose()?;
    let is_meant = |name: &String| named.as_ref().is_none_or(|named| named.contains(name));
    let meant = platform.sets().iter().filter(|set| is_meant(&set.name));
    let hosts = meant.flat_map(|set| set.hosts.iter().map(|host| host.0));
    Ok(hosts.collect())
}

/// The names of Sets that `patterns` stand for, which may have ranges.
fn named_sets(patterns: &[String], sets: &[&str]) -> Result<BTreeSet<String>, String> {
    let mut named = BTreeSet::new();
    for pattern in patterns {
        let names = match sets.contains(&pattern.as_str()) {
            true => vec![pattern.clone()],
            false => expand(pattern).map_err(|error| error.to_string())?,
        };
        if let Some(unknown) = names.iter().find(|name| !sets.contains(&name.as_str())) {
            return Err(unknown_name("Set", unknown, sets));
        }
        named.extend(names);
    }
    Ok(named)
}

fn two_loads(fault: &PlatformErrorKind) -> String {
    format!("{fault}; the platform's file has the first")
}

/// `platform` with congestion on the links that are `named`, or on all between Sets, as `traces` of `steps` steps say.
/// The two directions of a cable are congested together.
///
/// # Errors
///
/// If a link does not exist or is congested already, if no link lies between Sets, or there would be
/// too much to draw.
pub(super) fn links<Traces: Iterator<Item = (u32, Trace)>>(
    mut platform: Platform,
    steps: u64,
    named: Option<&[String]>,
    traces: impl FnOnce(&[u32]) -> Traces,
) -> Result<Platform, String> {
    let links = match named {
        Some(names) => named_links(&platform, names)?,
        None => platform.links_between_sets(),
    };
    let cables = cables(&platform, &links);
    if cables.is_empty() && named.is_none() {
        return Err("no link lies between Sets alone; name those that are congested".to_owned());
    }
    let numbers: Vec<u32> = cables.keys().map(|first| first.0).collect();
    check_amount(&numbers, steps, ("links", "steps"))?;
    for (number, trace) in traces(&numbers) {
        for link in &cables[&LinkId(number)] {
            let nominal = platform.links()[link.index()].bandwidth.get();
            let offered = profile(&trace, |taken| nominal * (1.0 - taken));
            platform = platform
                .with_bandwidth(*link, offered)
                .map_err(|fault| two_loads(&fault))?;
        }
    }
    Ok(platform)
}

/// `links` by cable: by the first link of each.
fn cables(platform: &Platform, links: &[LinkId]) -> BTreeMap<LinkId, Vec<LinkId>> {
    let mut by_name: BTreeMap<&str, Vec<LinkId>> = BTreeMap::new();
    for link in links {
        let name = cable(&platform.links()[link.index()].name);
        by_name.entry(name).or_default().push(*link);
    }
    by_name
        .into_values()
        .map(|links| (links[0], links))
        .collect()
}

/// The links called `names`, ascending; the name of a cable stands for both of its directions.
fn named_links(platform: &Platform, names: &[String]) -> Result<Vec<LinkId>, String> {
    let mut by_name: BTreeMap<&str, Vec<LinkId>> = BTreeMap::new();
    for (number, link) in (0..).zip(platform.links()) {
        let name = link.name.as_str();
        by_name.entry(name).or_default().push(LinkId(number));
        if cable(name) != name {
            by_name.entry(cable(name)).or_default().push(LinkId(number));
        }
    }
    let mut found = BTreeSet::new();
    for name in names {
        let Some(links) = by_name.get(name.as_str()) else {
            let known: Vec<&str> = by_name.into_keys().collect();
            return Err(unknown_name("link", name, &known));
        };
        found.extend(links);
    }
    Ok(found.into_iter().collect())
}

/// The name that the two directions of a cable share.
fn cable(link: &str) -> &str {
    link.strip_suffix("_UP")
        .or_else(|| link.strip_suffix("_DOWN"))
        .unwrap_or(link)
}

fn profile(trace: &Trace, value: impl Fn(f64) -> f64) -> Profile {
    let point = |(date, taken): &(Seconds, f64)| Point {
        date: date.get(),
        value: value(*taken),
    };
    let points = trace.points.iter().map(point).collect();
    Profile::new(points, Some(trace.period)).expect("a trace ends before it begins again")
}

/// Checks that `each` steps or jobs of every host or link are not too many.
fn check_amount(numbers: &[u32], each: u64, (what, of): (&str, &str)) -> Result<(), String> {
    let count = numbers.len();
    let total = u64::try_from(count).map_or(u64::MAX, |count| count.saturating_mul(each));
    if POINTS_MAX < total {
        let shorter = if of == "steps" {
            "a longer `step` or "
        } else {
            ""
        };
        return Err(format!(
            "{count} {what} of {each} {of} each, must be at most {POINTS_MAX} {of} together; use fewer of them, \
             {shorter}a shorter `period`"
        ));
    }
    Ok(())
}

fn unknown_name(kind: &str, name: &str, known: &[&str]) -> String {
    let hint = nearest(name, known).map_or_else(String::new, |nearest| {
        format!("; did you mean \"{nearest}\"?")
    });
    format!("the platform has no {kind} \"{name}\"{hint}")
}

/// More would take gigabytes.
const POINTS_MAX: u64 = 50_000_000;

#[cfg(test)]
mod tests {
    use workloads::background::Pattern;

    use super::*;

    #[test]
    fn more_than_memory_holds_is_not_drawn() {
        let text = "[[set]]\nname = 'a'\nhosts = 51\nspeed = 1e9\nlink = { bandwidth = 1e8 }";
        let platform = Platform::from_toml(text).unwrap();
        let seconds = |value| Seconds::new(value).unwrap();
        let pattern = Pattern::Walk { level: 0.5 };
        let background = Background::new(pattern, 1.0, seconds(1.0), seconds(1e6)).unwrap();
        assert_eq!(
            hosts(platform, &background, 1, None).unwrap_err(),
            "51 hosts of 1000000 steps each, must be at most 50000000 steps together; use fewer of \
             them, a longer `step` or a shorter `period`"
        );
    }

    #[test]
    fn both_directions_of_a_cable_are_congested_together() {
        let text = "[[set]]\nname = 'a0..1'\nhosts = 2\nspeed = 1e9\nlink = { bandwidth = 1e8 }\n\
                    uplink = { bandwidth = 1e7 }";
        let platform = || Platform::from_toml(text).unwrap();
        let second = Seconds::new(1.0).unwrap();
        let pattern = Pattern::Wave { level: 0.5 };
        let background = Background::new(pattern, 1.0, second, Seconds::new(9.0).unwrap()).unwrap();
        let congested = |named: Option<&[String]>| {
            let traces = |numbers: &[u32]| background.traces(1, Target::Links, numbers);
            let platform = links(platform(), background.steps(), named, traces).unwrap();
            let congested = platform
                .links()
                .iter()
                .filter(|link| link.bandwidth_profile.is_some());
            let found: Vec<_> = congested
                .map(|link| (link.name.clone(), link.bandwidth_profile.clone()))
                .collect();
            found
        };
        let found = congested(None);
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "a0_uplink_UP",
                "a0_uplink_DOWN",
                "a1_uplink_UP",
                "a1_uplink_DOWN"
            ]
        );
        assert_eq!(found[0].1, found[1].1);
        assert_ne!(found[0].1, found[2].1);
        // The directions of one that is named, and one that is named itself: alike as a pair.
        let named = ["a0_uplink", "a0_uplink_UP"].map(str::to_owned);
        assert_eq!(congested(Some(&named)), found[..2]);
    }
}
