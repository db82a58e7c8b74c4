//! Hosts by name.

use bsp::HostId;
use simulator::{Platform, expand};

use settings::nearest;

/// The host called `name`.
///
/// # Errors
///
/// If there is none; the error suggests the nearest name.
pub fn find_host(name: &str, platform: &Platform) -> Result<HostId, String> {
    platform.host_by_name(name).ok_or_else(|| {
        if platform.idle_hosts().iter().any(|idle| idle == name) {
            return format!(
                "host \"{name}\" has speed 0 and holds no process; name a host that computes"
            );
        }
        let hosts = platform.hosts().iter();
        let names: Vec<&str> = hosts.map(|host| host.name.as_str()).collect();
        let hint = nearest(name, &names).map_or_else(String::new, |nearest| {
            format!("; did you mean \"{nearest}\"?")
        });
        format!("the platform has no host \"{name}\"{hint}")
    })
}

/// The hosts that `name` stands for: one of that name or, if it has ranges as `node-01..16`, several.
///
/// # Errors
///
/// If one does not exist, or a range is invalid.
pub(crate) fn find_hosts(name: &str, platform: &Platform) -> Result<Vec<HostId>, String> {
    if let Some(host) = platform.host_by_name(name) {
        return Ok(vec![host]);
    }
    let names = expand(name).map_err(|error| error.to_string())?;
    names.iter().map(|name| find_host(name, platform)).collect()
}
