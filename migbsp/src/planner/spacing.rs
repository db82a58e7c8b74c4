//! How far away the next call may be.

use bsp::units::Seconds;

use crate::planner::call::Call;
use crate::planner::deferral::Undone;
use crate::planner::{LONGER, Planner, Proposal};
use crate::{Alternative, Spacing, Verdict};

impl Planner {
    /// How far away the next call may be, once `proposal` is decided.
    pub(super) fn spacing(&mut self, call: &Call<'_>, proposal: &Proposal) -> Spacing {
        let balance = &proposal.balance;
        let (pause, after) = match proposal.verdict {
            Verdict::Admitted => (0, balance.planned),
            Verdict::Unchanged => {
                let pause = self.pacing.pause_idle(self.planning.pause);
                (pause, balance.present)
            }
            Verdict::NotAmortised { pause } => (pause, balance.present),
        };
        let overhead = self.costs.overhead();
        let (_, again) = self.pacing.pauses(overhead);
        let limit = call.measured * LONGER + call.noise.superstep();
        let spacing = Spacing {
            cost: Seconds::bounded(overhead.unwrap_or_default()),
            pause,
            again: again.max(self.planning.pause),
            took: Seconds::bounded(call.measured),
            limit: proposal.is_audited.then(|| Seconds::bounded(limit)),
        };
        let shortest = proposal.draft.shortest.as_ref();
        let undone = shortest.and_then(|plan| self.undone(call, after.get(), plan));
        self.bring_forward(spacing, undone)
    }

    /// What the plan with the shortest supersteps gains and costs, if supersteps will take `after` seconds and not as
    /// noticeably less as they could.
    fn undone(&self, call: &Call<'_>, after: f64, shortest: &Alternative) -> Option<Undone> {
        let gain = after - shortest.superstep.get();
        let is_undone = call.is_more(gain, self.model_error.seconds());
        is_undone.then_some(Undone {
            gain,
            cost: shortest.cost.get(),
            noise: call.noise.least(),
            supersteps: call.noise.supersteps(),
        })
    }

    /// `spacing` with the next call where the plan that is left `undone` is worth it, if the budget delays it for longer.
    pub(super) fn bring_forward(&mut self, spacing: Spacing, undone: Option<Undone>) -> Spacing {
        let completed = self.pacing.completed();
        let overhead = self.costs.overhead().unwrap_or_default();
        let wait = self.deferral.observe(completed, undone, overhead);
        let (pause_min, _) = self.pacing.pauses(self.costs.overhead());
        let wait = wait.unwrap_or(u64::MAX);
        Spacing {
            pause: spacing.pause.max(pause_min.min(wait)),
            again: spacing.again.min(wait.max(spacing.pause)),
            ..spacing
        }
    }
}
