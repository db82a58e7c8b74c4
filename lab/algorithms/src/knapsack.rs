//! The processes that stay on a machine without room for all.

/// A process that stays at home or leaves.
pub(super) struct Item {
    pub(super) workload: f64,
    /// By how much staying is cheaper than leaving, which is above 0.
    pub(super) profit: f64,
    /// Profit per workload: infinite if it computes nothing.
    pub(super) density: f64,
    /// Where it goes if it leaves.
    pub(super) goal: usize,
}

/// Which share of each of `items`, by falling density, makes the most profit within `limit`: all or nothing,
/// if they are few and it does not take long to tell.
pub(super) fn packed(items: &[Item], limit: f64) -> Vec<f64> {
    let mut shares = vec![0.0; items.len()];
    if items.len() <= EXACTLY {
        let mut packing = Packing {
            items,
            best: 0.0,
            best_set: 0,
            looks: LOOKS,
        };
        packing.extend(0, limit, 0.0, 0);
        if 0 < packing.looks {
            for (at, share) in shares.iter_mut().enumerate() {
                *share = f64::from(packing.best_set >> at & 1);
            }
            return shares;
        }
    }
    let mut room = limit;
    for (item, share) in items.iter().zip(&mut shares) {
        if room < 0.0 {
            break;
        }
        *share = if item.workload <= room {
            1.0
        } else {
            room / item.workload
        };
        room -= item.workload;
    }
    shares
}

/// A knapsack, packed by branch and bound.
struct Packing<'a> {
    items: &'a [Item],
    best: f64,
    best_set: u32,
    /// How many sets may be looked at yet; if none, there may be better ones.
    looks: u32,
}

impl Packing<'_> {
    /// Looks at all ways to pack the items from `at` on, beside those of `set`.
    fn extend(&mut self, at: usize, room: f64, profit: f64, set: u32) {
        if self.best < profit {
            self.best = profit;
            self.best_set = set;
        }
        self.looks = self.looks.saturating_sub(1);
        let Some(item) = self.items.get(at) else {
            return;
        };
        if self.looks == 0 || profit + self.rest(at, room) <= self.best {
            return;
        }
        if item.workload <= room {
            let (room, profit) = (room - item.workload, profit + item.profit);
            self.extend(at + 1, room, profit, set | 1 << at);
        }
        self.extend(at + 1, room, profit, set);
    }

    /// No more profit than this fits into `room` from `at` on.
    fn rest(&self, at: usize, mut room: f64) -> f64 {
        let mut profit = 0.0;
        for item in &self.items[at..] {
            if room < item.workload {
                return profit + item.density * room;
            }
            room -= item.workload;
            profit += item.profit;
        }
        profit
    }
}

/// Up to this number of processes of a machine are packed exactly, unless that takes too many evaluations: many that are alike
/// are one as good as the other.
const EXACTLY: usize = 14;
const LOOKS: u32 = 400;
