//! The virtual clocks of bottleneck links; see the example in [`super`].

use super::Flow;
use super::track::Track;
use crate::calendar::CLOCK_RESOLUTION;
use crate::emptied::emptied;

/// A clock that runs at the level of a bottleneck link.
///
/// A flow limited by the link progresses at the link's level divided by the flow's weight, so it ends
/// when the clock has advanced by its bytes times its weight. That mark is set once and stays right
/// however often the level changes.
#[derive(Debug)]
pub(super) struct Clock {
    link: u32,
    /// Position in the heap of all clocks.
    position: u32,
    /// The clock's value at `since`.
    value: f64,
    /// When `value` was last brought up to date, in seconds.
    since: f64,
    /// How fast it runs.
    level: f64,
    /// When the first of its flows ends, in seconds.
    end: f64,
    /// A heap of marks and flows, first to end first.
    marks: Vec<(f64, u32)>,
    /// What its level can be calculated from without a look at its flows.
    track: Track,
    /// Flows ended since the value was last reset to zero.
    ended: usize,
}

/// All clocks, by the end of their first flow.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    clocks: Vec<Clock>,
    free: Vec<u32>,
    /// A heap of clocks, first to end first.
    order: Vec<u32>,
}

impl Clock {
    /// The clock's value at `now`.
    pub(super) fn value_at(&self, now: f64) -> f64 {
        self.value + self.level * (now - self.since)
    }

    /// The value of the clock at which the flow ends.
    pub(super) fn mark(&self, flow: &Flow) -> f64 {
        self.marks[flow.place as usize].0
    }
}

impl Clocks {
    /// Adds a clock for `link` at value zero; it has no end until its level is set.
    pub(super) fn insert(&mut self, link: usize, now: f64) -> u32 {
        let link = u32::try_from(link).expect("a link's number fits 32 bits");
        let position = u32::try_from(self.order.len()).expect("fewer clocks than links");
        let id = match self.free.pop() {
            Some(id) => id,
            None => {
                self.clocks.push(Clock {
                    link,
                    position,
                    value: 0.0,
                    since: now,
                    level: 0.0,
                    end: f64::INFINITY,
                    marks: Vec::new(),
                    track: Track::default(),
                    ended: 0,
                });
                u32::try_from(self.clocks.len() - 1).expect("fewer clocks than links")
            }
        };
        let clock = &mut self.clocks[id as usize];
        (clock.link, clock.position, clock.ended) = (link, position, 0);
        (clock.value, clock.since, clock.level, clock.end) = (0.0, now, 0.0, f64::INFINITY);
        (clock.track.is_on, clock.track.solutions) = (false, 0);
        self.order.push(id);
        id
    }

    /// Removes all clocks, which have no flows.
    pub(super) fn clear(&mut self) {
        let clocks = u32::try_from(self.clocks.len()).expect("fewer clocks than links");
        self.order.clear();
        for clock in &mut self.clocks {
            clock.marks = emptied(std::mem::take(&mut clock.marks));
        }
        self.free.clear();
        self.free.extend((0..clocks).rev());
    }

    /// Removes a clock without flows.
    pub(super) fn remove(&mut self, id: u32) {
        let clock = &self.clocks[id as usize];
        assert!(
            clock.marks.is_empty(),
            "a link is no bottleneck any more and yet limits flows"
        );
        let position = clock.position as usize;
        let marks = &mut self.clocks[id as usize].marks;
        *marks = emptied(std::mem::take(marks));
        self.order.swap_remove(position);
        if let Some(moved) = self.order.get(position) {
            self.clocks[*moved as usize].position =
                u32::try_from(position).expect("fewer clocks than links");
            self.restore_heap(position);
        }
        self.free.push(id);
    }

    pub(super) fn get(&self, id: u32) -> &Clock {
        &self.clocks[id as usize]
    }

    pub(super) fn is_empty(&self, id: u32) -> bool {
        self.clocks[id as usize].marks.is_empty()
    }

    /// Number of flows with a mark on the clock.
    pub(super) fn flow_count(&self, id: u32) -> usize {
        self.clocks[id as usize].marks.len()
    }

    pub(super) fn track(&self, id: u32) -> &Track {
        &self.clocks[id as usize].track
    }

    pub(super) fn track_mut(&mut self, id: u32) -> &mut Track {
        &mut self.clocks[id as usize].track
    }

    /// The clock whose first flow ends first, and when.
    pub(super) fn next(&self) -> Option<(u32, f64)> {
        let id = *self.order.first()?;
        let end = self.clocks[id as usize].end;
        (end < f64::INFINITY).then_some((id, end))
    }

    /// Brings the clock's value up to date.
    pub(super) fn advance(&mut self, id: u32, now: f64) {
        let clock = &mut self.clocks[id as usize];
        clock.value = clock.value_at(now);
        clock.since = now;
    }

    /// Adds a flow whose mark is `amount` ahead of the clock's value, which must be up to date.
    pub(super) fn add_flow(&mut self, id: u32, flows: &mut [Flow], flow: u32, amount: f64) {
        let clock = &mut self.clocks[id as usize];
        let mark = clock.value + amount;
        let place = clock.marks.len();
        clock.marks.push((mark, flow));
        sift_up(&mut clock.marks, flows, place);
    }

    /// Removes a flow from the clock.
    pub(super) fn remove_flow(&mut self, id: u32, flows: &mut [Flow], flow: u32) {
        let marks = &mut self.clocks[id as usize].marks;
        let place = flows[flow as usize].place as usize;
        debug_assert_eq!(marks[place].1, flow, "a flow knows its place");
        remove(marks, flows, place);
    }

    /// Brings the clock's value up to date; `now` is the end of its first flow.
    pub(super) fn advance_to_end(&mut self, id: u32, now: f64) {
        let clock = &mut self.clocks[id as usize];
        let first = clock.marks.first().map_or(0.0, |(mark, _)| *mark);
        clock.value = clock.value_at(now).max(first);
        clock.since = now;
    }

    /// Moves the flows that end now, or within the last digits of the clock, to `due`.
    pub(super) fn drain_due(&mut self, id: u32, flows: &mut [Flow], due: &mut Vec<u32>) {
        let clock = &mut self.clocks[id as usize];
        let value = clock.value + clock.level * clock.since * CLOCK_RESOLUTION;
        let before = due.len();
        while let Some((mark, flow)) = clock.marks.first().copied()
            && mark <= value
        {
            if clock.marks.last().is_some_and(|(mark, _)| *mark <= value) {
                // Many flows end together, as in a barrier: remove them in one pass.
                drain_marks(&mut clock.marks, flows, value, due);
                break;
            }
            remove(&mut clock.marks, flows, 0);
            due.push(flow);
        }
        clock.ended += due.len() - before;
    }

    /// Updates the end of the first flow.
    pub(super) fn update_end(&mut self, id: u32) {
        let level = self.clocks[id as usize].level;
        self.set_level(id, level);
    }

    /// Runs the clock, whose value must be up to date, at `level` from now on.
    pub(super) fn set_level(&mut self, id: u32, level: f64) {
        let clock = &mut self.clocks[id as usize];
        clock.level = level;
        if clock.marks.len() < clock.ended {
            // Small values keep more digits.
            for (mark, _) in &mut clock.marks {
                *mark -= clock.value;
            }
            clock.value = 0.0;
            clock.ended = 0;
        }
        clock.end = match clock.marks.first() {
            Some((mark, _)) => clock.since + ((mark - clock.value) / level).max(0.0),
            None => f64::INFINITY,
        };
        let position = clock.position as usize;
        self.restore_heap(position);
    }

    /// Restores the heap after the clock at `position` changed.
    fn restore_heap(&mut self, mut position: usize) {
        let id = self.order[position];
        let end = self.clocks[id as usize].end;
        while 0 < position {
            let parent = self.order[(position - 1) / 2];
            if self.clocks[parent as usize].end <= end {
                break;
            }
            self.put(position, parent);
            position = (position - 1) / 2;
        }
        loop {
            let mut child = 2 * position + 1;
            let Some(left) = self.order.get(child) else {
                break;
            };
            let mut least = self.clocks[*left as usize].end;
            if let Some(right) = self.order.get(child + 1)
                && self.clocks[*right as usize].end < least
            {
                child += 1;
                least = self.clocks[self.order[child] as usize].end;
            }
            if end <= least {
                break;
            }
            self.put(position, self.order[child]);
            position = child;
        }
        self.put(position, id);
    }

    fn put(&mut self, position: usize, id: u32) {
        self.order[position] = id;
        self.clocks[id as usize].position =
            u32::try_from(position).expect("fewer clocks than links");
    }
}

/// Moves the flows of all marks up to `value` from the heap to `due`.
fn drain_marks(marks: &mut Vec<(f64, u32)>, flows: &mut [Flow], value: f64, due: &mut Vec<u32>) {
    due.extend(
        marks
            .iter()
            .filter(|(mark, _)| *mark <= value)
            .map(|(_, flow)| *flow),
    );
    marks.retain(|(mark, _)| value < *mark);
    for place in 0..marks.len() {
        sift_up(marks, flows, place);
    }
}

fn remove(marks: &mut Vec<(f64, u32)>, flows: &mut [Flow], place: usize) {
    marks.swap_remove(place);
    if place < marks.len() {
        sift_up(marks, flows, place);
        let moved = marks[place];
        if flows[moved.1 as usize].place as usize == place {
            sift_down(marks, flows, place);
        }
    }
}

fn sift_up(marks: &mut [(f64, u32)], flows: &mut [Flow], mut place: usize) {
    let moved = marks[place];
    while 0 < place {
        let parent = marks[(place - 1) / 2];
        if parent.0 <= moved.0 {
            break;
        }
        set(marks, flows, place, parent);
        place = (place - 1) / 2;
    }
    set(marks, flows, place, moved);
}

fn sift_down(marks: &mut [(f64, u32)], flows: &mut [Flow], mut place: usize) {
    let moved = marks[place];
    loop {
        let mut child = 2 * place + 1;
        let Some(mut least) = marks.get(child).copied() else {
            break;
        };
        if let Some(right) = marks.get(child + 1)
            && right.0 < least.0
        {
            least = *right;
            child += 1;
        }
        if moved.0 <= least.0 {
            break;
        }
        set(marks, flows, place, least);
        place = child;
    }
    set(marks, flows, place, moved);
}

fn set(marks: &mut [(f64, u32)], flows: &mut [Flow], place: usize, mark: (f64, u32)) {
    marks[place] = mark;
    flows[mark.1 as usize].place = u32::try_from(place).expect("fewer than 2^32 flows");
}
