//! The supersteps of simulated programs.

use std::ops::Range;

use agents::most;
use agents::{Event, Outputs, RunError, SimulatedPrograms, SuperstepPlan, arrival};
use bsp::units::{Bytes, Instructions, Seconds};
use bsp::{MemorySize, Rank, Reductions};
use protocol::Arrived;

/// The programs, and the superstep that they execute.
pub(super) struct Supersteps {
    programs: Box<dyn SimulatedPrograms>,
    /// The superstep in progress.
    plan: SuperstepPlan,
    /// The number of supersteps that have begun.
    begun: u64,
    /// When each process began to compute: time since the platform was last at rest.
    started: Vec<Seconds>,
    /// How long each process computed in its last superstep. The programs of a superstep are executed together, before the
    /// agents of all of them have started it.
    elapsed: Vec<Seconds>,
}

impl Supersteps {
    /// No superstep has begun, with `size` processes.
    pub(super) fn new(programs: Box<dyn SimulatedPrograms>, size: usize) -> Self {
        Self {
            programs,
            plan: SuperstepPlan::default(),
            begun: 0,
            started: vec![Seconds::ZERO; size],
            elapsed: vec![Seconds::ZERO; size],
        }
    }

    /// The number of supersteps that have begun.
    pub(super) const fn begun(&self) -> u64 {
        self.begun
    }

    /// Executes the programs for `superstep`, when its first process begins it, with these processes on standby, and with
    /// what has been `reduced`. Returns its plan in this case.
    pub(super) fn begin(
        &mut self,
        superstep: u64,
        standby: &[Rank],
        reduced: Option<&Reductions>,
    ) -> Result<Option<&mut SuperstepPlan>, RunError> {
        if superstep < self.begun {
            return Ok(None);
        }
        assert_eq!(self.begun, superstep, "supersteps follow each other");
        self.programs
            .execute(superstep, &self.elapsed, standby, reduced, &mut self.plan)?;
        self.begun += 1;
        Ok(Some(&mut self.plan))
    }

    /// `rank` starts to compute `now`. Returns its number of instructions.
    pub(super) fn start(&mut self, rank: Rank, now: Seconds) -> Instructions {
        self.started[rank.index()] = now;
        self.plan.work[rank.index()]
    }

    /// `rank` has computed `now`.
    pub(super) fn end(&mut self, rank: Rank, now: Seconds) {
        self.elapsed[rank.index()] = now - self.started[rank.index()];
    }

    /// The event of `rank`, which has computed.
    pub(super) fn computed(&mut self, rank: Rank) -> Event {
        let reductions = self.take_reductions(rank);
        Event::Computed {
            work: self.plan.work[rank.index()],
            time: self.elapsed[rank.index()],
            halted: self.plan.halts[rank.index()],
            reductions,
        }
    }

    /// The contributions of `rank` to reductions, while its agent does not have them.
    #[inline]
    pub(super) fn take_reductions(&mut self, rank: Rank) -> Reductions {
        let place = self.plan.reductions.get_mut(rank.index());
        place.map(std::mem::take).unwrap_or_default()
    }

    /// Keeps the contributions of `rank` to reductions while its arrival is on its way.
    #[inline]
    pub(super) fn keep_reductions(&mut self, rank: Rank, reductions: Reductions) {
        if !reductions.is_empty() {
            self.plan.reductions[rank.index()] = reductions;
        }
    }

    /// The length of the contributions of `rank` to reductions, while its arrival is on its way.
    #[inline]
    pub(super) fn reductions_len(&self, rank: Rank) -> Bytes {
        let place = self.plan.reductions.get(rank.index());
        place.map_or(Bytes::ZERO, Reductions::charged_len)
    }

    /// The contributions of all processes to reductions, combined.
    pub(super) fn combined_reductions(&mut self) -> Reductions {
        let mut all = Reductions::default();
        for reductions in self.plan.reductions.drain(..) {
            all.combine(reductions);
        }
        all
    }

    /// The arrival of `rank` at the end of the superstep in progress, but for its contributions to reductions.
    pub(super) fn arrival(&self, rank: Rank) -> Arrived {
        let at = rank.index();
        let sent = u32::try_from(self.sends(rank).len()).expect("fewer than 2^32 messages");
        arrival(
            self.begun.wrapping_sub(1),
            (rank, self.plan.halts[at]),
            self.elapsed[at],
            (sent, self.plan.expected[at]),
            Reductions::default(),
        )
    }

    /// What programs do in the superstep in progress.
    pub(super) const fn plan(&self) -> &SuperstepPlan {
        &self.plan
    }

    /// How long each process computed in its last superstep.
    pub(super) fn elapsed(&self) -> &[Seconds] {
        &self.elapsed
    }

    /// Each process has computed for so long in its last superstep.
    pub(super) fn set_elapsed(&mut self, elapsed: &[Seconds]) {
        self.elapsed.copy_from_slice(elapsed);
    }

    /// The indices of the messages that `rank` sends.
    pub(super) fn sends(&self, rank: Rank) -> Range<u32> {
        self.plan.sends_of(rank)
    }

    /// By rank, the sizes of program and inbox of the processes that have not halted, between two supersteps.
    pub(super) fn states(&self) -> Vec<Option<Bytes>> {
        let ranks = (0..self.elapsed.len()).map(Rank::from_index);
        let program = |rank: Rank| (!self.has_halted(rank)).then(|| self.memory(rank).total());
        let mut states: Vec<Option<Bytes>> = ranks.map(program).collect();
        for (to, bytes) in self.plan.receivers.iter().zip(&self.plan.sizes) {
            if let Some(state) = &mut states[to.index()] {
                *state += *bytes;
            }
        }
        states
    }

    /// The encoded program of `rank` and its declared memory.
    pub(super) fn pack(&mut self, rank: Rank) -> Result<(Vec<u8>, Option<Bytes>), RunError> {
        self.programs.pack(rank)
    }

    /// Replaces the program of `rank` by an encoded one.
    pub(super) fn unpack(&mut self, rank: Rank, program: &[u8]) -> Result<(), RunError> {
        self.programs.unpack(rank, program)
    }

    /// The memory that `rank` occupies.
    pub(super) fn memory(&self, rank: Rank) -> MemorySize {
        self.programs.memory(rank)
    }

    /// The most supersteps that `rank` executes after the first `completed`, if its program knows.
    pub(super) fn remaining(&self, rank: Rank, completed: u64) -> Option<u64> {
        self.programs.remaining(rank, completed)
    }

    /// Whether `rank` has halted.
    pub(super) fn has_halted(&self, rank: Rank) -> bool {
        self.programs.has_halted(rank)
    }

    /// The part of the work that has been done after `completed` supersteps: what a program says, or the part of the
    /// supersteps, if all programs know their number.
    pub(super) fn progress(&self, completed: u64) -> Option<f64> {
        let of_supersteps = || {
            let ranks = (0..self.elapsed.len()).map(Rank::from_index);
            let running = ranks.filter(|rank| !self.has_halted(*rank));
            let remaining = most(running.map(|rank| self.programs.remaining(rank, completed)))?;
            let all = completed.saturating_add(remaining);
            (0 < all).then(|| completed as f64 / all as f64)
        };
        self.programs.progress().or_else(of_supersteps)
    }

    /// The outputs of all processes.
    pub(super) fn outputs(&mut self) -> Outputs {
        self.programs.outputs()
    }
}
