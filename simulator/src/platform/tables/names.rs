//! The hosts that names, ranges of them and Sets stand for.

use bsp::HostId;

use crate::platform::builder::{Builder, Endpoint};
use crate::platform::error::{ErrorAt, PlatformErrorKind};
use crate::platform::name_range::expand;
use crate::platform::tables::document::{HostNames, NamesEntry};

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
                    let set = hosts_of_set(builder, &name);
                    hosts.extend(set.map_err(|kind| ErrorAt { at, kind })?);
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
