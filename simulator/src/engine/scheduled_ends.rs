//! Activities that end at a date that is known from the start.

use crate::activity::Activity;

/// The activities whose ends are in the calendar, each with the number under which it was started.
///
/// The entries of the calendar are small, because there is one for each message and each busy host. These activities
/// are few, so that the entry has their place alone.
#[derive(Debug, Default)]
pub(super) struct ScheduledEnds {
    ends: Vec<(u64, Activity)>,
    free: Vec<u32>,
}

impl ScheduledEnds {
    /// Adds an activity, and returns its place.
    pub(super) fn insert(&mut self, sequence: u64, activity: Activity) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.ends[place as usize] = (sequence, activity);
                place
            }
            None => {
                self.ends.push((sequence, activity));
                u32::try_from(self.ends.len() - 1).expect("fewer than 2^32 activities")
            }
        }
    }

    /// Removes the activity at a place: it ends.
    pub(super) fn remove(&mut self, place: u32) -> (u64, Activity) {
        self.free.push(place);
        self.ends[place as usize]
    }
}
