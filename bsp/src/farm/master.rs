//! The process of a farm that deals.

use std::collections::VecDeque;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::dealer::Dealer;
use super::message::FarmMessage;
use super::shared;
use super::tasks::Tasks;
use crate::ids::Rank;
use crate::numbers::{length, real};
use crate::program::Step;
use crate::superstep::Superstep;

/// Deals tasks and collects their outcomes.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub(super) struct Master<T: Tasks> {
    /// What workers share, encoded, until all have it.
    shared: Option<Bytes>,
    /// By worker: whether it has that. One on standby gets it when its host has joined.
    has_shared: Vec<bool>,
    /// The tasks that have not been dealt, in order.
    tasks: VecDeque<T::Task>,
    dealer: Dealer,
    /// The outcomes of the tasks that have been dealt; `None`: it is being executed.
    outcomes: Vec<Option<T::Outcome>>,
    /// The number of outcomes that are there.
    executed: u64,
    /// By worker: the number of its first task of this interaction.
    first: Vec<usize>,
    /// Whether workers know that no tasks follow.
    has_ended: bool,
}

impl<T: Tasks> Master<T> {
    pub(super) fn new(shared: Bytes, tasks: Vec<T::Task>, dealer: Dealer) -> Self {
        Self {
            shared: Some(shared),
            has_shared: Vec::new(),
            outcomes: Vec::with_capacity(tasks.len()),
            tasks: tasks.into(),
            dealer,
            executed: 0,
            first: Vec::new(),
            has_ended: false,
        }
    }

    /// The part of the tasks that have been executed.
    pub(super) fn progress(&self) -> f64 {
        let tasks = self.outcomes.len() + self.tasks.len();
        if tasks == 0 {
            return 1.0;
        }
        real(self.executed) / real(length(tasks))
    }

    /// An equal master. It is no `Clone`, whose derivation would ask for one of `T`.
    pub(super) fn fork(&self) -> Self {
        Self {
            shared: self.shared.clone(),
            has_shared: self.has_shared.clone(),
            tasks: self.tasks.clone(),
            dealer: self.dealer.clone(),
            outcomes: self.outcomes.clone(),
            executed: self.executed,
            first: self.first.clone(),
            has_ended: self.has_ended,
        }
    }

    pub(super) fn superstep(
        &mut self,
        ctx: &mut Superstep<'_, FarmMessage<T>>,
    ) -> Step<Vec<T::Outcome>> {
        for (from, message) in ctx.receive() {
            let worker = from.index() - 1;
            match message {
                FarmMessage::Outcomes(outcomes) => {
                    let places = self.outcomes[self.first[worker]..].iter_mut();
                    for (place, outcome) in places.zip(outcomes) {
                        *place = Some(outcome);
                        self.executed += 1;
                    }
                }
                FarmMessage::Took(took) => self.dealer.observe(worker, took),
                FarmMessage::Part { .. } | FarmMessage::Tasks { .. } | FarmMessage::End => {}
            }
        }
        match ctx.index() % SUPERSTEPS {
            _ if ctx.index() == 0 => self.share(ctx),
            DEAL => {
                if let Some(interaction) = self.dealer.complete() {
                    ctx.report(interaction);
                }
                if self.has_ended {
                    let outcomes = std::mem::take(&mut self.outcomes).into_iter();
                    return Step::Halt(outcomes.flatten().collect());
                }
                self.deal(ctx);
            }
            EXECUTE => self.share_with_joined(ctx),
            _ => {}
        }
        Step::Continue
    }

    /// Sends what workers share to all that are not on standby; to all if there is no other.
    fn share(&mut self, ctx: &mut Superstep<'_, FarmMessage<T>>) {
        let mut workers: Vec<Rank> = workers(ctx).filter(|rank| !ctx.is_standby(*rank)).collect();
        if workers.is_empty() {
            workers = self::workers(ctx).collect();
        }
        self.has_shared = vec![false; self::workers(ctx).count()];
        for worker in &workers {
            self.has_shared[worker.index() - 1] = true;
        }
        let encoding = self.shared.clone().expect("it has not been sent");
        let Some(parts) = shared::parts(&encoding, workers.len()) else {
            for worker in workers {
                ctx.send(worker, whole(worker, &encoding));
            }
            return;
        };
        for ((number, worker), bytes) in (0..).zip(&workers).zip(parts) {
            let workers = workers.clone();
            let part = FarmMessage::Part {
                number,
                workers,
                bytes,
            };
            ctx.send(*worker, part);
        }
    }

    /// Sends what workers share to those whose hosts have joined, while the others execute.
    fn share_with_joined(&mut self, ctx: &mut Superstep<'_, FarmMessage<T>>) {
        let Some(encoding) = &self.shared else { return };
        for (worker, has_shared) in workers(ctx).zip(&mut self.has_shared) {
            if !*has_shared && !ctx.is_standby(worker) && !self.has_ended {
                *has_shared = true;
                ctx.send(worker, whole(worker, encoding));
            }
        }
        if self.has_shared.iter().all(|has_shared| *has_shared) {
            self.shared = None;
        }
    }

    fn deal(&mut self, ctx: &mut Superstep<'_, FarmMessage<T>>) {
        let dealt = self.dealer.deal(ctx.index(), &self.has_shared);
        self.first.clear();
        self.has_ended = self.dealer.left() == 0;
        for (dealt, to) in dealt.into_iter().zip(workers(ctx)) {
            let first = self.outcomes.len();
            self.first.push(first);
            let dealt = usize::try_from(dealt).expect("as many tasks are here");
            if 0 < dealt {
                let tasks = self.tasks.drain(..dealt).collect();
                self.outcomes.resize_with(first + dealt, || None);
                let first = length(first);
                ctx.send(to, FarmMessage::Tasks { first, tasks });
            }
            if self.has_ended {
                ctx.send(to, FarmMessage::End);
            }
        }
    }
}

/// All workers, in rank order.
fn workers<T: Tasks>(ctx: &Superstep<'_, FarmMessage<T>>) -> impl Iterator<Item = Rank> + use<T> {
    ctx.ranks().skip(1)
}

/// The whole of what workers share, for one of them.
fn whole<T: Tasks>(worker: Rank, encoding: &Bytes) -> FarmMessage<T> {
    FarmMessage::Part {
        number: 0,
        workers: vec![worker],
        bytes: encoding.clone(),
    }
}

/// The supersteps of an interaction, and what happens in two of them; before the first interaction, workers get what they
/// share.
pub(super) const SUPERSTEPS: u64 = 3;
const DEAL: u64 = 1;
pub(super) const EXECUTE: u64 = 2;
