//! What a platform is, for people and programs.

mod flows;

use bsp::units::{BytesPerSecond, Seconds};
use bsp::{HostId, SetId};
use experiments::{Failure, Provenance, Published};
use serde::Serialize;
use simulator::{Host, NetworkModel, Platform};

use crate::document::{Answer, Document, Table, csv_of_fields};
use crate::text::{maybe, without_zeros};

pub use flows::{Flows, whole_bytes};

/// A platform, as shown.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PlatformView {
    /// Its file.
    file: String,
    /// Its Sets.
    sets: Vec<SetView>,
    /// The routes between Sets, and inside each.
    routes: Vec<RouteView>,
    /// What is doubtful in it, in sentences.
    warnings: Vec<String>,
}

/// One Set. Speeds are those of one core, in instructions per second.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct SetView {
    /// Its name.
    name: String,
    /// Number of its hosts.
    hosts: usize,
    /// Name of its first host.
    first: String,
    /// Name of its last host.
    last: String,
    /// Number of cores of all its hosts.
    cores: u64,
    /// The speed of the slowest host.
    speed_min: f64,
    /// That of the fastest one.
    speed_max: f64,
    /// Number of hosts whose speed changes with time.
    profiles: usize,
}

/// The way from the first host of a Set to the last of another (or of the same).
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct RouteView {
    /// Name of the Set that it comes from.
    from: String,
    /// Name of the Set that it goes to.
    to: String,
    /// Number of links.
    links: usize,
    /// Sum of the latencies of the links.
    latency_seconds: f64,
    /// The latency that messages have under the network model lv08.
    lv08_latency_seconds: f64,
    /// The least bandwidth of a link.
    bandwidth_bytes_per_second: f64,
}

impl PlatformView {
    /// What is shown of `platform`, read from `file`.
    pub fn new(platform: &Platform, file: &str) -> Self {
        let sets = platform.sets();
        let ids = || (0..sets.len()).map(SetId::from_index);
        let pairs = ids().flat_map(|from| ids().map(move |to| (from, to)));
        Self {
            file: file.to_owned(),
            sets: ids().map(|set| SetView::new(platform, set)).collect(),
            routes: pairs
                .filter_map(|(from, to)| RouteView::new(platform, from, to))
                .collect(),
            warnings: platform.warnings().to_vec(),
        }
    }
}

impl Answer for PlatformView {
    fn document(&self) -> Document {
        let giga = |speed: f64| format!("{}", speed / 1e9);
        let speed = |set: &&SetView| {
            if set.speed_min < set.speed_max {
                format!("{} to {}", giga(set.speed_min), giga(set.speed_max))
            } else {
                giga(set.speed_min)
            }
        };
        let sets = Table::of(
            &self.sets,
            &[
                ("Set", &|set| set.name.clone()),
                ("hosts", &|set| set.hosts.to_string()),
                ("cores", &|set| set.cores.to_string()),
                ("Ginstr/s", &speed),
                ("profiles", &|set| set.profiles.to_string()),
                ("names", &|set| format!("{} .. {}", set.first, set.last)),
            ],
        );
        let few = self.sets.len() <= SETS_PAIRED;
        let shown = |route: &&RouteView| few || route.from == route.to;
        let routes = Table::of(
            self.routes.iter().filter(shown),
            &[
                ("from", &|route| route.from.clone()),
                ("to", &|route| route.to.clone()),
                ("links", &|route| route.links.to_string()),
                ("latency [us]", &|route| micro(route.latency_seconds)),
                ("lv08 [us]", &|route| micro(route.lv08_latency_seconds)),
                ("bandwidth [MB/s]", &|route| {
                    mega(route.bandwidth_bytes_per_second)
                }),
            ],
        );
        let mut document = Document::default();
        document.table(sets.dispensing(&[5, 4, 2]));
        document.table(routes);
        if self.routes.iter().any(|route| 0.0 < route.latency_seconds) {
            document.say(format!(
                "lv08: the latency that messages have under `network.model = \"lv08\"`, the default: {} times that \
                 of the links.",
                NetworkModel::Lv08.latency_factor()
            ));
        }
        if !few {
            document.say("The routes between the Sets are in --format json.");
        }
        for warning in &self.warnings {
            document.say(format!("warning: {warning}"));
        }
        document
    }

    /// A row per Set.
    fn csv(&self, provenance: &Provenance) -> Result<String, Failure> {
        csv_of_fields::<Self, _>(provenance, &self.sets)
    }
}

impl Published for PlatformView {
    const SCHEMA: &'static str = "migbsp.platform/1";
}

impl SetView {
    fn new(platform: &Platform, id: SetId) -> Self {
        let set = platform.set(id);
        let hosts = || set.hosts.iter().map(|host| platform.host(*host));
        let speeds = || hosts().map(|host| host.speed.get());
        let name = |host: Option<&HostId>| maybe(host, |host| platform.host(*host).name.clone());
        let has_profile = |host: &&Host| host.availability.is_some() || host.load.is_some();
        Self {
            name: set.name.clone(),
            hosts: set.hosts.len(),
            first: name(set.hosts.first()),
            last: name(set.hosts.last()),
            cores: hosts().map(|host| u64::from(host.cores)).sum(),
            speed_min: speeds().fold(f64::INFINITY, f64::min),
            speed_max: speeds().fold(0.0, f64::max),
            profiles: hosts().filter(has_profile).count(),
        }
    }
}

impl RouteView {
    /// Nothing if there is no route, or no second host to reach.
    fn new(platform: &Platform, from: SetId, to: SetId) -> Option<Self> {
        let first = *platform.set(from).hosts.first()?;
        let last = *platform.set(to).hosts.last()?;
        if first == last {
            return None;
        }
        let mut route = Vec::new();
        platform.route(first, last, &mut route).ok()?;
        let links = || route.iter().map(|id| &platform.links()[id.index()]);
        let latency: Seconds = links().map(|link| link.latency).sum();
        let bandwidth = links()
            .map(|link| link.bandwidth)
            .reduce(BytesPerSecond::min)?;
        Some(Self {
            from: platform.set(from).name.clone(),
            to: platform.set(to).name.clone(),
            links: route.len(),
            latency_seconds: latency.get(),
            lv08_latency_seconds: latency.get() * NetworkModel::Lv08.latency_factor(),
            bandwidth_bytes_per_second: bandwidth.get(),
        })
    }
}

fn micro(seconds: f64) -> String {
    short(seconds * 1e6)
}

fn mega(bytes_per_second: f64) -> String {
    short(bytes_per_second / 1e6)
}

/// At most three digits behind the point.
fn short(number: f64) -> String {
    without_zeros(&format!("{number:.3}"))
}

/// Maximum number of Sets for a table of all pairs.
const SETS_PAIRED: usize = 8;
