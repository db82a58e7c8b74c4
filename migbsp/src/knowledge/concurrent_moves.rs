//! The moves of one call, which share links.

use std::collections::BTreeMap;

use bsp::{HostId, SetId};

use super::MeasuredMove;

/// A move of a call, as it was predicted and measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CallMove {
    /// What was measured.
    pub measured: MeasuredMove,
    /// Seconds per byte that were predicted for it.
    pub per_byte: f64,
    /// The hosts that it left and reached, with their Sets.
    pub from: (HostId, SetId),
    /// Where it went.
    pub to: (HostId, SetId),
}

/// What moves share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Link {
    FromHost(HostId),
    ToHost(HostId),
    FromSet(SetId),
    ToSet(SetId),
}

impl CallMove {
    /// Seconds that its bytes take at the predicted bandwidth, without other moves.
    fn alone(&self) -> f64 {
        self.measured.bytes.as_f64() * self.per_byte
    }

    /// The links that it shares: those of its hosts, and those of its Sets if it leaves its Set.
    fn links(&self) -> impl Iterator<Item = Link> {
        let ((from, source), (to, target)) = (self.from, self.to);
        let hosts = [Link::FromHost(from), Link::ToHost(to)];
        let sets = [Link::FromSet(source), Link::ToSet(target)];
        let crosses = source != target;
        hosts
            .into_iter()
            .chain(sets.into_iter().filter(move |_| crosses))
    }
}

/// Seconds that each of the `moves` of a call takes if those that share a link start together and have equal parts of it:
/// a move of `s` seconds takes the sum of `min(s, t)` over all moves, of `t` seconds, on the link where that is longest.
pub(super) fn shared(moves: &[CallMove]) -> Vec<f64> {
    let mut links: BTreeMap<Link, Vec<f64>> = BTreeMap::new();
    for step in moves {
        for link in step.links() {
            links.entry(link).or_default().push(step.alone());
        }
    }
    // In each link: the moves from the shortest on, each with the sum of those up to it.
    let sums = links.into_iter().map(|(link, mut times)| {
        times.sort_by(f64::total_cmp);
        let sums = times.iter().scan(0.0, |sum, time| {
            *sum += time;
            Some(*sum)
        });
        let sums: Vec<f64> = sums.collect();
        (link, (times, sums))
    });
    let sums: BTreeMap<Link, (Vec<f64>, Vec<f64>)> = sums.collect();
    let on_link = |alone: f64, link: Link| {
        let (times, sums) = &sums[&link];
        let shorter = times.partition_point(|time| time.total_cmp(&alone).is_le());
        let before = sums.get(shorter.wrapping_sub(1)).copied();
        before.unwrap_or_default() + crate::bounded::count(times.len() - shorter) * alone
    };
    let longest = |step: &CallMove| {
        let alone = step.alone();
        step.links()
            .map(|link| on_link(alone, link))
            .fold(alone, f64::max)
    };
    moves.iter().map(longest).collect()
}

#[cfg(test)]
mod tests {
    use bsp::units::{Bytes, Seconds};

    use super::*;

    fn step(bytes: u64, from: (u32, u32), to: (u32, u32)) -> CallMove {
        let place = |(host, set)| (HostId(host), SetId(set));
        CallMove {
            measured: MeasuredMove {
                bytes: Bytes(bytes),
                took: Seconds::ZERO,
                processing: Seconds::ZERO,
                round_trip: Seconds::ZERO,
            },
            per_byte: 1.0,
            from: place(from),
            to: place(to),
        }
    }

    #[test]
    fn a_move_without_others_takes_what_its_bytes_take() {
        assert_eq!(shared(&[step(7, (0, 0), (1, 1))]), [7.0]);
        assert!(shared(&[]).is_empty());
    }

    #[test]
    fn moves_on_one_link_share_it() {
        // From one host: 1, 3 and 5 seconds; the last is alone for two seconds.
        let moves = [1, 3, 5].map(|bytes| (bytes, 1));
        let moves: Vec<_> = moves
            .iter()
            .zip(1..)
            .map(|((bytes, set), host)| step(*bytes, (0, 0), (host, *set + host)))
            .collect();
        assert_eq!(shared(&moves), [3.0, 7.0, 9.0]);
    }

    #[test]
    fn moves_between_other_hosts_share_the_links_of_their_sets() {
        let moves = [step(4, (0, 0), (4, 1)), step(4, (1, 0), (5, 1))];
        assert_eq!(shared(&moves), [8.0, 8.0]);
        // Inside a Set they share nothing.
        let moves = [step(4, (0, 0), (1, 0)), step(4, (2, 0), (3, 0))];
        assert_eq!(shared(&moves), [4.0, 4.0]);
        // A host can send and receive at the same time.
        let moves = [step(4, (0, 0), (1, 0)), step(4, (1, 0), (0, 0))];
        assert_eq!(shared(&moves), [4.0, 4.0]);
    }
}
