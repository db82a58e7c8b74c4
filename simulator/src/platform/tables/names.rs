//! Ranges of names: `labtec-1..5` stands for `labtec-1`, `labtec-2`, … `labtec-5`.

use bsp::HostId;

use crate::platform::builder::{Builder, Endpoint, HOSTS_MAX};
use crate::platform::error::{ErrorAt, PlatformErrorKind};
use crate::platform::tables::document::{HostNames, NamesEntry};

/// The names that a name with or without a range stands for.
pub(super) fn expand(pattern: &str) -> Result<Vec<String>, PlatformErrorKind> {
    let Some((before, after)) = pattern.split_once("..") else {
        return Ok(vec![pattern.to_owned()]);
    };
    let prefix = before.trim_end_matches(|character: char| character.is_ascii_digit());
    let suffix = after.trim_start_matches(|character: char| character.is_ascii_digit());
    let first = before[prefix.len()..].parse::<u32>();
    let last = after[..after.len() - suffix.len()].parse::<u32>();
    let (Ok(first), Ok(last)) = (first, last) else {
        return Err(misread(pattern));
    };
    if last < first {
        return Err(misread(pattern));
    }
    let count = u64::from(last - first) + 1;
    if u64::from(HOSTS_MAX) < count {
        let limit = u64::from(HOSTS_MAX);
        return Err(PlatformErrorKind::TooMany {
            what: "names in a range",
            met: count,
            limit,
        });
    }
    Ok((first..=last)
        .map(|number| format!("{prefix}{number}{suffix}"))
        .collect())
}

/// The hosts that names, ranges and Sets stand for; each once, in file order.
pub(super) fn hosts(builder: &Builder, names: &HostNames) -> Result<Vec<HostId>, ErrorAt> {
    let at = names.0.span().start;
    let patterns = match names.0.get_ref() {
        NamesEntry::One(pattern) => std::slice::from_ref(pattern),
        NamesEntry::Several(patterns) => patterns.as_slice(),
    };
    let mut hosts = Vec::new();
    for pattern in patterns {
        if pattern == "*" {
            hosts.extend(
                builder
                    .sets()
                    .iter()
                    .flat_map(|set| set.hosts.iter().copied()),
            );
            continue;
        }
        for name in expand(pattern).map_err(|kind| ErrorAt { at, kind })? {
            match builder.host(&name) {
                Some(host) => hosts.push(host),
                None => {
                    hosts.extend(hosts_of_set(builder, &name).map_err(|kind| ErrorAt { at, kind })?)
                }
            }
        }
    }
    hosts.sort_unstable();
    hosts.dedup();
    Ok(hosts)
}

fn hosts_of_set<'a>(builder: &'a Builder, name: &str) -> Result<&'a [HostId], PlatformErrorKind> {
    const WHAT: &str = "host or Set";
    match builder.node(WHAT, name)? {
        Endpoint::Zone(_) if !name.is_empty() => {
            let set = builder.sets().iter().find(|set| set.name == name);
            Ok(set.map_or(&[], |set| &set.hosts))
        }
        _ => Err(PlatformErrorKind::Unknown {
            what: WHAT,
            name: name.to_owned(),
            nearest: None,
        }),
    }
}

fn misread(pattern: &str) -> PlatformErrorKind {
    PlatformErrorKind::InvalidValue {
        key: "a range of names",
        met: pattern.to_owned(),
        expected: "the first and last number with `..` between them, as `labtec-1..5`",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_stand_for_names() {
        assert_eq!(expand("a-9..11").unwrap(), ["a-9", "a-10", "a-11"]);
        assert_eq!(expand("c0..1x").unwrap(), ["c0x", "c1x"]);
        assert_eq!(expand("plain").unwrap(), ["plain"]);
        assert!(expand("a-5..1").is_err());
        assert!(expand("a..").is_err());
        assert!(expand("a0..4294967295").is_err());
    }
}
