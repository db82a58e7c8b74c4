//! What hosts that join are expected to save.

use bsp::units::Seconds;

/// What joining would bring, as it is expected when hosts are asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prospect {
    /// The time that is left without the host, in seconds.
    pub left: f64,
    /// The sum of the speeds of the hosts at work.
    pub power: f64,
}

impl Prospect {
    /// What a host of `speed` that takes `creation` to prepare saves, in seconds, while the processes wait for it if that
    /// `is_blocking`; equation `JOIN`.
    #[must_use]
    pub fn saves(&self, speed: f64, creation: Seconds, is_blocking: bool) -> f64 {
        let part = speed / (self.power + speed);
        let creation = creation.get();
        if is_blocking {
            self.left * part - creation
        } else {
            (self.left - creation) * part
        }
    }

    /// A host of `speed` joins.
    pub fn join(&mut self, speed: f64) {
        self.left *= self.power / (self.power + speed);
        self.power += speed;
    }
}

/// Why hosts cannot join after a part of the work.
pub const UNKNOWN_PROGRESS: &str = "the program does not know how much of its work is done, so hosts cannot join after a part of it; \
                                    set `elasticity.superstep` or `elasticity.date` instead of `elasticity.part`";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_saves_its_part_of_what_is_left_less_what_it_takes() {
        let mut prospect = Prospect {
            left: 12.0,
            power: 2.0,
        };
        let creation = Seconds::new(3.0).unwrap();
        let is = |found: f64, expected: f64| (found - expected).abs() < 1e-9;
        assert!(is(prospect.saves(1.0, creation, true), 1.0));
        assert!(is(prospect.saves(1.0, creation, false), 3.0));
        prospect.join(1.0);
        assert!(is(prospect.left, 8.0) && is(prospect.power, 3.0));
    }
}
