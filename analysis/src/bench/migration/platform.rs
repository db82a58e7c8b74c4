//! What was measured, as the description of a simulated platform.

use migbsp::median;

use super::report::Report;
use crate::text::rounded;

/// A node of the bench, for a simulated platform.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The name of its Set.
    pub set: &'a str,
    /// Its processors.
    pub cores: u32,
}

impl Report {
    /// A platform with two hosts and the link between them, and in comments what an experiment on it states of the cost of
    /// moves. `None`: no move has been measured.
    ///
    /// The bandwidth of the link is the median of what bytes of moves met, its latency half of the shortest round trip.
    #[must_use]
    pub fn platform(&self, places: [Place<'_>; 2]) -> Option<String> {
        let moves = self.kinds.iter().flat_map(|kind| &kind.timeline.moves);
        let startup = self.model?.startup_seconds;
        let met = moves.clone().filter_map(|timed| {
            let seconds = timed.moved.took.get() - startup;
            (startup < seconds).then(|| timed.moved.bytes.as_f64() / seconds)
        });
        let bandwidth = median(met.collect())?;
        let trips = moves.filter_map(|timed| timed.moved.times);
        let trips = trips.map(|times| times.round_trip.get());
        let latency = trips.reduce(f64::min)? / 2.0;
        let speeds: Vec<f64> = self.kinds.last()?.timeline.speeds.clone();
        let speed = |index: usize| speeds.get(index).copied().unwrap_or(FLOPS);
        let link = format!(
            "bandwidth = \"{:.0} Bps\"\nlatency = \"{} us\"",
            bandwidth,
            rounded(latency * 1e6, 3)
        );
        let [from, to] = &self.settings.nodes;
        let mut text = format!(
            "# Measured by `bench migration` between {from} and {to}. An experiment on this platform states\n#\n\
             #   [scheduler.migration]\n#   base = \"{} ms\"\n\n",
            rounded(startup * 1e3, 4)
        );
        let set = |name: &str, hosts: u32, cores: u32, speed: f64, inside: &str| {
            let name = serde_json::Value::from(name);
            format!(
                "[[set]]\nname = {name}\nhosts = {hosts}\ncores = {cores}\nspeed = \"{speed:.0} f\"\nlink = {{ {inside} }}\n\n"
            )
        };
        let [one, other] = places;
        if one.set == other.set {
            let inside = link.replace('\n', ", ");
            text.push_str(&set(one.set, 2, one.cores, speed(0), &inside));
            return Some(text);
        }
        for (index, place) in places.iter().enumerate() {
            text.push_str(&set(place.set, 1, place.cores, speed(index), INSIDE));
        }
        let sets = serde_json::Value::from(places.map(|place| place.set).to_vec());
        text.push_str(&format!(
            "[[link]]\nname = \"measured\"\nbetween = {sets}\n{link}\nduplex = \"split\"\n"
        ));
        Some(text)
    }
}

/// The link of a host inside its Set, which the bench does not measure: much faster than the link between the Sets.
const INSIDE: &str = "bandwidth = \"100 Gbps\", latency = \"0 us\"";

/// The speed of a host that no call has measured.
const FLOPS: f64 = 1e9;

#[cfg(test)]
mod tests {
    use simulator::Platform;

    use crate::bench::migration::{Place, Report, Settings};

    #[test]
    fn without_a_move_there_is_nothing_to_write() {
        let settings = Settings {
            nodes: ["a".to_owned(), "b".to_owned()],
            state: ["1MB".to_owned(), "2MB".to_owned()],
            level: None,
            dwell_seconds: None,
        };
        let place = Place { set: "s", cores: 1 };
        assert_eq!(Report::new(settings, Vec::new()).platform([place; 2]), None);
        // The link inside a Set is one that platforms can have.
        let text = format!(
            "[[set]]\nname = \"s\"\nhosts = 1\ncores = 1\nspeed = \"1 Gf\"\nlink = {{ {} }}\n",
            super::INSIDE
        );
        assert!(Platform::from_toml(&text).is_ok(), "{text}");
    }
}
