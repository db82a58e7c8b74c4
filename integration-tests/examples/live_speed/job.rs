//! What is run on the nodes: processes that compute, send and are moved as a case says.

use std::sync::Arc;
use std::time::{Duration, Instant};

use agents::{
    Barrier, HostedProgram, ProgramType, Scheduler, Script, Setup, Shape, TransferStart, hosted,
};
use bsp::{Array, BoxError, HostId, Max, Program, Rank, Step, Sum, Superstep};
use bytes::Bytes;
use machines::{JobError, Prepared, ProgramBuilder};
use protocol::{Member, Submit};
use serde::{Deserialize, Serialize};
use simulator::{NetworkOptions, Platform};

use crate::checkpoints::{Plate, Saves};

/// A run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Case {
    pub(crate) processes: u32,
    pub(crate) supersteps: u64,
    pub(crate) is_central: bool,
    /// Bytes that every process sends to the next.
    pub(crate) sends: usize,
    /// What every process reduces.
    pub(crate) reduces: Reduces,
    /// How long every process computes.
    pub(crate) spins: Duration,
    /// Bytes of the state of the third process.
    pub(crate) state: usize,
    pub(crate) calls: Calls,
    /// When checkpoints are taken, of processes with large states.
    pub(crate) saves: Option<Saves>,
}

/// What every process reduces in every superstep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Reduces {
    Nothing,
    /// A sum and a maximum, of 8 bytes each.
    Two,
    /// The sum of so many numbers, element by element.
    Sum(usize),
}

/// When rescheduling calls are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Calls {
    /// There is no scheduler.
    None,
    /// There is one, which measures, and whose call never comes.
    Never,
    /// Every this number of supersteps; no process moves.
    Unmoved(u32),
    /// Every this number of supersteps; the third process moves to the other node, and back.
    Moving(u32),
}

impl Case {
    /// Empty supersteps.
    pub(crate) const fn empty(processes: u32, supersteps: u64) -> Self {
        Self {
            processes,
            supersteps,
            is_central: false,
            sends: 0,
            reduces: Reduces::Nothing,
            spins: Duration::ZERO,
            state: 0,
            calls: Calls::None,
            saves: None,
        }
    }

    pub(crate) fn setup(&self, members: &[Member]) -> anyhow::Result<Setup> {
        let hosts = members.len();
        let processes = usize::try_from(self.processes)?;
        let home = |rank: usize| HostId::from_index(rank * hosts / processes);
        let mut placement: Vec<HostId> = (0..processes).map(home).collect();
        if let Calls::Moving(_) = self.calls {
            // One process of each node looks at its memory, and the third starts on the first.
            placement = [0, 1, 0].map(HostId::from_index).to_vec();
        }
        let shape = if self.is_central {
            Shape::Central
        } else {
            Shape::Hierarchical
        };
        Ok(Setup {
            platform: Arc::new(platform(members)?),
            network: NetworkOptions::default(),
            start: TransferStart::Eager,
            placement,
            barrier: Barrier {
                shape,
                ..Barrier::default()
            },
            scheduler: self.scheduler()?,
            elasticity: None,
            awaited: None,
            checkpointing: self.saves.and_then(Saves::checkpointing),
            superstep_limit: u64::MAX,
            traced: false,
            repeats: true,
            resumed: None,
        })
    }

    fn scheduler(&self) -> anyhow::Result<Option<Scheduler>> {
        let (interval, script) = match self.calls {
            Calls::None => return Ok(None),
            Calls::Never => (u32::MAX, None),
            Calls::Unmoved(interval) => (interval, None),
            Calls::Moving(interval) => {
                let steps = (1..self.supersteps).filter(|step| step % u64::from(interval) == 0);
                let there = |(count, step)| {
                    let host = HostId::from_index((count + 1) % 2);
                    (step, vec![(Rank(2), host)])
                };
                let script = Script(steps.enumerate().map(there).collect());
                (u32::MAX, Some(script))
            }
        };
        let parameters = model::Parameters {
            interval,
            tolerance: 1e-9,
            omega: u32::MAX,
            ..model::Parameters::default()
        };
        Ok(Some(Scheduler {
            model: model::Config::new(parameters)?,
            moves: script.is_some(),
            script,
            ..Scheduler::default()
        }))
    }

    pub(crate) fn program_type(&self) -> ProgramType {
        if self.saves.is_some() {
            ProgramType::new::<Plate>()
        } else {
            ProgramType::new::<Load>()
        }
    }

    fn program(&self, rank: Rank) -> Box<dyn HostedProgram> {
        if self.saves.is_some() {
            return hosted(Plate::new(self.supersteps));
        }
        hosted(Load {
            case: self.clone(),
            state: blocks(if rank == Rank(2) { self.state } else { 0 }),
            occupied: 0,
        })
    }
}

/// The job of a case.
pub(crate) fn prepare(submit: &Submit) -> Result<Prepared, JobError> {
    let case: Result<Case, _> = serde_json::from_str(&submit.experiment);
    let case = case.map_err(|error| JobError::input(error.to_string()))?;
    let setup = case.setup(&submit.members);
    Ok(Prepared {
        setup: setup.map_err(|error| JobError::input(error.to_string()))?,
        program_type: case.program_type(),
        supersteps: Some(case.supersteps),
        programs: ProgramBuilder::new(move |ranks, take| {
            for rank in ranks {
                take(*rank, case.program(*rank))?;
            }
            Ok(())
        }),
    })
}

/// A process.
#[derive(Serialize, Deserialize)]
pub(crate) struct Load {
    case: Case,
    /// Blocks of a MiB, as rows of a matrix are.
    state: Vec<Bytes>,
    /// What its node occupied when it began to look, KiB.
    occupied: u64,
}

/// What a node occupied before anything moved, and at most, KiB.
pub(crate) type Peak = (u64, u64);

impl Program for Load {
    type Message = Bytes;
    type Output = Peak;

    fn superstep(&mut self, ctx: &mut Superstep<'_, Bytes>) -> Result<Step<Peak>, BoxError> {
        let began = Instant::now();
        if ctx.index() == 1 && ctx.rank().0 < 2 && 0 < self.case.state {
            self.occupied = crate::memory::forget_peak();
        }
        let received = ctx.receive().next().map(|(_, message)| message);
        if ctx.index() + 1 == self.case.supersteps {
            return Ok(Step::Halt((self.occupied, crate::memory::peak())));
        }
        if 0 < self.case.sends {
            let message = received.unwrap_or_else(|| vec![1; self.case.sends].into());
            ctx.send(Rank((ctx.rank().0 + 1) % ctx.size()), message);
        }
        self.reduce(ctx)?;
        while began.elapsed() < self.case.spins {
            std::hint::spin_loop();
        }
        Ok(Step::Continue)
    }
}

impl Load {
    /// Uses what has been reduced, and contributes to the next reductions.
    fn reduce(&self, ctx: &mut Superstep<'_, Bytes>) -> Result<(), BoxError> {
        let (number, is_first) = (f64::from(ctx.rank().0) * 0.1, ctx.index() == 0);
        match self.case.reduces {
            Reduces::Nothing => {}
            Reduces::Two => {
                if !is_first {
                    let sum = ctx.reduced::<Sum<f64>>("residual")?;
                    std::hint::black_box(sum + ctx.reduced::<Max<f64>>("peak")?);
                }
                ctx.reduce("residual", Sum(number));
                ctx.reduce("peak", Max(number));
            }
            Reduces::Sum(count) => {
                let numbers = if is_first {
                    vec![number; count].into()
                } else {
                    ctx.reduced::<Sum<Array<f64>>>("field")?
                };
                ctx.reduce("field", Sum(numbers));
            }
        }
        Ok(())
    }
}

fn blocks(bytes: usize) -> Vec<Bytes> {
    let whole = std::iter::repeat_n(BLOCK, bytes / BLOCK);
    let lengths = whole.chain((!bytes.is_multiple_of(BLOCK)).then_some(bytes % BLOCK));
    lengths.map(|length| vec![3; length].into()).collect()
}

fn platform(members: &[Member]) -> anyhow::Result<Platform> {
    let mut text = String::new();
    for set in ["s0", "s1", "s2", "s3"] {
        let hosts = members.iter().filter(|member| member.set == set).count();
        if 0 < hosts {
            text += &format!(
                "[[set]]\nname = \"{set}\"\nhosts = {hosts}\nspeed = \"1 Ginstr/s\"\n\
                 link = {{ bandwidth = \"1 GBps\", latency = \"10 us\" }}\n\
                 uplink = {{ bandwidth = \"1 GBps\", latency = \"10 us\" }}\n"
            );
        }
    }
    Ok(Platform::from_toml(&text)?)
}

const BLOCK: usize = 1 << 20;
