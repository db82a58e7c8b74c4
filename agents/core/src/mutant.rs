//! Deliberate defects of the protocol, for builds that check whether fault simulations find them.
//!
//! Without `--cfg mutant` there are none: the question whether the code has one is a constant.

use std::fmt;

#[cfg(mutant)]
use std::cell::Cell;

/// A deliberate defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// A batch of a superstep that has not begun counts as a late one of the superstep before.
    TakeOtherSuperstep,
    /// A process arrives before its messages have been acknowledged.
    ArriveUnacknowledged,
    /// A placement is announced only to the hosts between which processes move.
    AnnounceToFew,
    /// A batch does not say which processes have halted.
    ForgetHalted,
    /// A node goes on with a job whose client has gone.
    StayWithoutClient,
    /// A client has the nodes begin before all of them are ready.
    BeginEarly,
    /// A Manager commits a placement when the first process has been installed.
    CommitEarly,
    /// A process that moves leaves the messages behind that have arrived for it.
    LeaveInbox,
    /// A host does not note that a process has moved to another one.
    KeepOldPlacement,
    /// A host whose processes have all left refuses batches of hosts that have gone on.
    RefuseWhenLeft,
    /// A host refuses the state of a process that comes from where the host does not know it to run yet.
    RefuseEarlyImage,
    /// A node has ended although the Managers of other Sets wait for what its own passes on.
    EndBeforeBarrier,
    /// An order to save outputs for a checkpoint counts that is complete already.
    SaveCompleted,
    /// A node refuses a job at once that follows one which has ended there, and whose client has not closed yet.
    RefuseAtOnce,
    /// A Manager refuses the loads that are reported to a policy whose plan a script replaces.
    RefuseScriptedLoads,
    /// A node reports its pieces before its buddy has them.
    ReportUncopied,
    /// A node forgets the checkpoint before when the next one begins.
    ForgetGeneration,
    /// A process is saved without the messages that it is about to receive.
    SaveWithoutInbox,
    /// A checkpoint counts as complete although a process is missing.
    CompleteEarly,
    /// Files get their names before their bytes are on the disk.
    WriteUnsynced,
    /// A job goes on from a checkpoint of which a piece is lost.
    RestartUncovered,
    /// A node takes a checkpoint of the view before for one of its own before the same superstep.
    CompleteBySuperstep,
    /// A node that goes on keeps the pieces of other checkpoints than the one with which the job goes on.
    KeepOtherCheckpoints,
    /// A client takes the outputs of the view before.
    TakeOldOutputs,
    /// A client goes on before all nodes have left the session.
    GoOnEarly,
    /// A node obeys a candidate although it obeys another one.
    ObeyTwo,
    /// One node less than a quorum decides which nodes go on.
    DecideWithFewer,
    /// A node obeys a candidate that does not know the last view which it has accepted.
    ObeyOlderView,
    /// A client that attaches again to a ledger takes again what it has taken of it.
    TakeAgain,
    /// A leader tells a client that attaches only what it sees from then on.
    TellFromNow,
    /// A node keeps the ledger of a job that it does not lead any more.
    KeepLedger,
}

impl Mutant {
    /// All of them.
    pub const ALL: [Self; 31] = [
        Self::TakeOtherSuperstep,
        Self::ArriveUnacknowledged,
        Self::AnnounceToFew,
        Self::ForgetHalted,
        Self::StayWithoutClient,
        Self::BeginEarly,
        Self::CommitEarly,
        Self::LeaveInbox,
        Self::KeepOldPlacement,
        Self::RefuseWhenLeft,
        Self::RefuseEarlyImage,
        Self::EndBeforeBarrier,
        Self::SaveCompleted,
        Self::RefuseAtOnce,
        Self::RefuseScriptedLoads,
        Self::ReportUncopied,
        Self::ForgetGeneration,
        Self::SaveWithoutInbox,
        Self::CompleteEarly,
        Self::WriteUnsynced,
        Self::RestartUncovered,
        Self::CompleteBySuperstep,
        Self::KeepOtherCheckpoints,
        Self::TakeOldOutputs,
        Self::GoOnEarly,
        Self::ObeyTwo,
        Self::DecideWithFewer,
        Self::ObeyOlderView,
        Self::TakeAgain,
        Self::TellFromNow,
        Self::KeepLedger,
    ];

    /// Whether this build has defects.
    pub const ARE_BUILT: bool = cfg!(mutant);
}

impl fmt::Display for Mutant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::TakeOtherSuperstep => "take-other-superstep",
            Self::ArriveUnacknowledged => "arrive-unacknowledged",
            Self::AnnounceToFew => "announce-to-few",
            Self::ForgetHalted => "forget-halted",
            Self::StayWithoutClient => "stay-without-client",
            Self::BeginEarly => "begin-early",
            Self::CommitEarly => "commit-early",
            Self::LeaveInbox => "leave-inbox",
            Self::KeepOldPlacement => "keep-old-placement",
            Self::RefuseWhenLeft => "refuse-when-left",
            Self::RefuseEarlyImage => "refuse-early-image",
            Self::EndBeforeBarrier => "end-before-barrier",
            Self::SaveCompleted => "save-completed",
            Self::RefuseAtOnce => "refuse-at-once",
            Self::RefuseScriptedLoads => "refuse-scripted-loads",
            Self::ReportUncopied => "report-uncopied",
            Self::ForgetGeneration => "forget-generation",
            Self::SaveWithoutInbox => "save-without-inbox",
            Self::CompleteEarly => "complete-early",
            Self::WriteUnsynced => "write-unsynced",
            Self::RestartUncovered => "restart-uncovered",
            Self::CompleteBySuperstep => "complete-by-superstep",
            Self::KeepOtherCheckpoints => "keep-other-checkpoints",
            Self::TakeOldOutputs => "take-old-outputs",
            Self::GoOnEarly => "go-on-early",
            Self::ObeyTwo => "obey-two",
            Self::DecideWithFewer => "decide-with-fewer",
            Self::ObeyOlderView => "obey-older-view",
            Self::TakeAgain => "take-again",
            Self::TellFromNow => "tell-from-now",
            Self::KeepLedger => "keep-ledger",
        })
    }
}

#[cfg(mutant)]
thread_local! {
    static CHOSEN: Cell<Option<Mutant>> = const { Cell::new(None) };
}

/// Gives the code that this thread executes a defect, or none.
#[cfg(mutant)]
pub fn choose(mutant: Option<Mutant>) {
    CHOSEN.set(mutant);
}

/// Whether the code has this defect.
#[cfg(mutant)]
pub fn is(mutant: Mutant) -> bool {
    CHOSEN.get() == Some(mutant)
}

/// Gives the code no defect: this build has none.
#[cfg(not(mutant))]
pub const fn choose(_: Option<Mutant>) {}

/// Whether the code has this defect: it has none.
#[cfg(not(mutant))]
pub const fn is(_: Mutant) -> bool {
    false
}
