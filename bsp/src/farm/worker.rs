//! The processes of a farm that execute tasks.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::message::FarmMessage;
use super::shared;
use super::tasks::{Tasks, Work};
use crate::ids::Rank;
use crate::numbers::length;
use crate::program::Step;
use crate::reference::panic_message;
use crate::superstep::Superstep;

/// Executes tasks.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub(super) struct Worker<T: Tasks> {
    shared: Option<T::Shared>,
    /// The parts of its encoding, until all are here.
    parts: Vec<Option<Bytes>>,
    /// Whether it executed tasks in its last superstep.
    has_executed: bool,
    /// Whether no tasks follow.
    has_ended: bool,
}

impl<T: Tasks> Worker<T> {
    pub(super) const fn new() -> Self {
        Self {
            shared: None,
            parts: Vec::new(),
            has_executed: false,
            has_ended: false,
        }
    }

    /// An equal worker.
    pub(super) fn fork(&self) -> Self {
        Self {
            shared: self.shared.clone(),
            parts: self.parts.clone(),
            has_executed: self.has_executed,
            has_ended: self.has_ended,
        }
    }

    pub(super) fn superstep(
        &mut self,
        ctx: &mut Superstep<'_, FarmMessage<T>>,
    ) -> Step<Vec<T::Outcome>> {
        if std::mem::take(&mut self.has_executed) {
            ctx.send(MASTER, FarmMessage::Took(ctx.elapsed()));
        }
        // Messages are ordered by sender: tasks come before the parts of other workers.
        let mut dealt = None;
        for (from, message) in ctx.receive() {
            match message {
                FarmMessage::Part {
                    number,
                    workers,
                    bytes,
                } => {
                    if from == MASTER {
                        pass_on(ctx, number, &workers, &bytes);
                    }
                    self.parts.resize(workers.len(), None);
                    if let Some(place) = usize::try_from(number)
                        .ok()
                        .and_then(|at| self.parts.get_mut(at))
                    {
                        *place = Some(bytes);
                    }
                }
                FarmMessage::Tasks { first, tasks } => dealt = Some((first, tasks)),
                FarmMessage::End => self.has_ended = true,
                FarmMessage::Outcomes(_) | FarmMessage::Took(_) => {}
            }
        }
        self.assemble(ctx);
        if let Some((first, tasks)) = dealt {
            let outcomes = self.execute(ctx, first, &tasks);
            ctx.send(MASTER, FarmMessage::Outcomes(outcomes));
            self.has_executed = true;
        }
        if self.has_ended && !self.has_executed {
            Step::Halt(Vec::new())
        } else {
            Step::Continue
        }
    }

    /// Decodes what workers share, once all its parts are here.
    fn assemble(&mut self, ctx: &Superstep<'_, FarmMessage<T>>) {
        let parts: Option<Vec<Bytes>> = self.parts.iter().cloned().collect();
        let Some(parts) = parts.filter(|parts| !parts.is_empty()) else {
            return;
        };
        self.parts.clear();
        match shared::decode(&parts) {
            Ok(shared) => self.shared = Some(shared),
            Err(error) => ctx.fail(format!("what workers share cannot be decoded: {error}")),
        }
    }

    /// Executes `tasks`, the first of which has the number `first`. A panic of one names it.
    fn execute(
        &self,
        ctx: &mut Superstep<'_, FarmMessage<T>>,
        first: u64,
        tasks: &[T::Task],
    ) -> Vec<T::Outcome> {
        let shared = self
            .shared
            .as_ref()
            .expect("it comes before the first task");
        let mut work = Work::default();
        let mut outcomes = Vec::with_capacity(tasks.len());
        let executed = catch_unwind(AssertUnwindSafe(|| {
            for task in tasks {
                outcomes.push(T::execute(shared, task, &mut work));
            }
        }));
        if let Err(panic) = executed {
            let task = first + length(outcomes.len());
            panic!("task {task}: {}", panic_message(&*panic));
        }
        ctx.charge(work.charged());
        outcomes
    }
}

/// Sends a part to the workers that do not have it from the master.
fn pass_on<T: Tasks>(
    ctx: &mut Superstep<'_, FarmMessage<T>>,
    number: u32,
    workers: &[Rank],
    bytes: &Bytes,
) {
    let own = ctx.rank();
    for to in workers.iter().filter(|worker| **worker != own) {
        let workers = workers.to_vec();
        let bytes = bytes.clone();
        ctx.send(
            *to,
            FarmMessage::Part {
                number,
                workers,
                bytes,
            },
        );
    }
}

/// The process that deals.
const MASTER: Rank = Rank(0);
