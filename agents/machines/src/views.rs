//! How a job goes on when a node of it is lost, or another one joins: in another view, from the newest checkpoint that the nodes
//! have in memory.
//!
//! The leader of a job decides that alone: nodes obey one leader. All that is left of a view is in its [`Suspension`]. The next
//! view has
//!
//! | | |
//! |---|---|
//! | members | a [quorum](mod@crate::quorum): the nodes that have left the session; of two that have lost each other, one; and nodes of the pool that are free |
//! | pool | the nodes that take no part in it and did before, and those that never have |
//! | Managers | in each Set the one before, or the first node whose certificate allows it; a Set without one joins another Set |
//! | state | the newest checkpoint of whose processes the members have all pieces, own ones or copies; else the beginning of the job |
//! | placement | a process on standby goes to the host for which it waits when that joins; others stay where their own piece is; the others go where they end first ([`resumed_placement`]); nodes that join relieve those that end last |
//!
//! Pieces of one barrier are a state of the job, whether the checkpoint was announced as complete or not. Pieces of two
//! incarnations are never combined. A job that begins anew again and again without a newer checkpoint ends.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant as Clock};

use agents::mutant::{self, Mutant};
use agents::{Setup, resumed_placement};
use bsp::numbers::whole;
use bsp::units::{Instructions, Seconds};
use bsp::{HostId, Rank};
use checkpoint::Generation;
use protocol::identity::Role;
use protocol::transport::JobId;
use protocol::{
    AcceptedView, Awaited, Build, LostNode, Member, ResumedJob, SavedProcess, SavedView, View,
};

use crate::client::{Decided, Request, Suspension};
use crate::job_error::JobError;
use crate::members::names;
use crate::quorum::may_follow;
use crate::{resumption, seconds};

/// The views of a job so far, as its client knows them.
#[derive(Clone, Debug)]
pub struct Views {
    /// The number of the job.
    job: JobId,
    /// Whether the job can begin again from its beginning: its first view did.
    begins_anew: bool,
    /// The checkpoint from which the last view began.
    newest: Option<Generation>,
    /// The number of views in a row that began without a newer checkpoint.
    repeated: u32,
    /// The reasons for the losses since then.
    reasons: Vec<String>,
    /// The members that have lost another one which was there and had not just joined, by name. When one does so again, it leaves itself.
    complained: BTreeSet<String>,
    /// The nodes that have joined since a view has begun, by name.
    joined: BTreeSet<String>,
    /// How often each node has been lost, by name.
    losses: BTreeMap<String, u32>,
    /// The node that leads the job; `None`: its client does.
    leader: Option<String>,
    /// The name in the certificate of the client whose job a node leads.
    owner: Option<String>,
    /// By session: the last complete view, and those that members have accepted since.
    accepted: BTreeMap<u64, AcceptedView>,
}

/// Why a job does not go on with what is left of a view.
#[derive(Clone, Debug)]
pub enum Hindrance {
    /// Too few nodes are left: others may go on without them.
    NoQuorum(JobError),
    /// Others have gone on without this node.
    Overtaken(JobError),
    /// It cannot.
    Ended(JobError),
}

impl From<Hindrance> for JobError {
    fn from(hindrance: Hindrance) -> Self {
        match hindrance {
            Hindrance::NoQuorum(error) | Hindrance::Overtaken(error) | Hindrance::Ended(error) => {
                error
            }
        }
    }
}

impl From<JobError> for Hindrance {
    fn from(error: JobError) -> Self {
        Self::Ended(error)
    }
}

/// How a job goes on.
#[derive(Clone, Debug, PartialEq)]
pub struct NextView {
    /// The number of the job.
    pub job: JobId,
    /// Its number, and who has the pieces with which it begins.
    pub view: View,
    /// The nodes that take part, by host.
    pub members: Vec<Member>,
    /// The host of each in the view before. Those after its members are of its pool.
    pub hosts: Vec<HostId>,
    /// The build and the role of each.
    pub connected: Vec<(Build, Role)>,
    /// The state in which it begins; `None`: the beginning of the job.
    pub resumed: Option<ResumedJob>,
    /// The nodes of the view before that take no part any more.
    pub lost: Vec<LostMember>,
    /// The names of the nodes that were not in the view before.
    pub joined: Vec<String>,
    /// Those, and others that have joined since a view has begun.
    pub unproven: Vec<String>,
    /// How long each node of the pool is left alone, by its place there: longer each time that it has been lost.
    pub pauses: Vec<Duration>,
    /// The number of supersteps that were complete and are executed again.
    pub repeats: u64,
    /// Which of the hosts join that the experiment names, if it names any and that is decided.
    pub decided: Option<Decided>,
    /// When the leader knew of the first loss, or when processes were held.
    pub since: Option<Clock>,
}

/// A node that takes no part in a job any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostMember {
    /// Its name.
    pub name: String,
    /// Why it counts as lost.
    pub reason: String,
    /// For how long it had been silent, if it was.
    pub silent: Option<Seconds>,
}

impl Views {
    /// The views of `job`, the first of which is that of `request`.
    #[must_use]
    pub const fn of(job: JobId, request: &Request) -> Self {
        Self {
            job,
            begins_anew: request.setup.resumed.is_none(),
            newest: None,
            repeated: 0,
            reasons: Vec::new(),
            complained: BTreeSet::new(),
            joined: BTreeSet::new(),
            losses: BTreeMap::new(),
            leader: None,
            owner: None,
            accepted: BTreeMap::new(),
        }
    }

    /// Those of a job of the client `owner` that the node `leader` begins to lead, after the view of `request`.
    #[must_use]
    pub fn led_by((leader, owner): (String, String), job: JobId, request: &Request) -> Self {
        let view = request.view.as_ref();
        let saved = view.and_then(|view| view.saved.as_ref());
        let resumed = request.setup.resumed.as_ref();
        Self {
            begins_anew: view.is_some_and(|view| view.begins_anew),
            newest: saved.zip(resumed).map(|(saved, resumed)| Generation {
                incarnation: saved.incarnation,
                superstep: resumed.superstep,
            }),
            repeated: view.map_or(0, |view| view.repeated),
            reasons: vec![match view.and_then(|view| view.leader) {
                None => "the client of the job is lost, or has left".to_owned(),
                Some(host) => {
                    let name = request.members.get(host.index()).map(|member| &member.name);
                    format!(
                        "{}, which led the job, is lost",
                        name.map_or("a node", |name| name)
                    )
                }
            }],
            leader: Some(leader),
            owner: Some(owner),
            ..Self::of(job, request)
        }
    }

    /// The view of `request`, as its members accept it.
    fn accepted(request: &Request, session: JobId) -> AcceptedView {
        let view = request.view.as_ref();
        let names = names(&request.members);
        AcceptedView {
            session: session.0.get(),
            number: view.map_or(0, |view| view.number),
            leader: view.and_then(|view| names.get(view.leader?.index()).cloned()),
            members: names,
        }
    }

    /// Whether a node leads the job.
    #[must_use]
    pub const fn is_led_by_node(&self) -> bool {
        self.leader.is_some()
    }

    /// Which members are left for the next view, and which take no part any more.
    ///
    /// # Errors
    ///
    /// If those that are left do not decide.
    fn remaining(
        &mut self,
        (request, session): (&Request, JobId),
        suspension: &Suspension,
    ) -> Result<(Vec<HostId>, Vec<LostMember>), Hindrance> {
        let name = |host: HostId| request.members[host.index()].name.clone();
        if suspension.has_begun {
            self.joined.clear();
        }
        let has_joined = |host: HostId| self.joined.contains(&name(host));
        let has_complained = |host: HostId| self.complained.contains(&name(host));
        let mut lost = lost_nodes(suspension, has_joined, has_complained);
        if let Some((_, reason)) = suspension
            .leaving
            .iter()
            .find(|(host, _)| Some(name(**host)) == self.leader)
        {
            // Another node leads the job without it.
            return Err(Hindrance::NoQuorum(JobError::cluster(reason.clone())));
        }
        let by_client = self.leader.is_none();
        let there = suspension.suspended.keys().copied();
        let there: Vec<HostId> = there
            .filter(|host| lost.iter().all(|lost| lost.host != *host))
            .collect();
        if suspension.is_complete {
            self.accepted.clear();
        }
        let said = there
            .iter()
            .filter_map(|host| suspension.suspended.get(host));
        let said = said.flat_map(|suspended| suspended.views.clone());
        let said: Vec<AcceptedView> = said.chain([Self::accepted(request, session)]).collect();
        self.accepted
            .extend(said.into_iter().map(|view| (view.session, view)));
        let names = |hosts: &[HostId]| -> BTreeSet<String> {
            hosts.iter().map(|host| name(*host)).collect()
        };
        let size = request.setup.placement.len();
        let decide = |hosts: &[HostId]| {
            let names = names(hosts);
            let mut accepted = self.accepted.values();
            accepted.all(|view| may_follow(view, &names, by_client))
        };
        let is_planned = lost.is_empty();
        let leaving = leaving_nodes(suspension, there, (size, is_planned), decide);
        lost.extend(leaving);
        let complained = suspension.suspended.iter().filter(|(host, of)| {
            let mut others = of.lost.iter().map(|other| other.host);
            !has_joined(**host)
                && others
                    .any(|other| suspension.suspended.contains_key(&other) && !has_joined(other))
        });
        let complained: Vec<String> = complained.map(|(host, _)| name(*host)).collect();
        self.complained.extend(complained);
        let described = lost.iter().map(|lost| LostMember {
            name: name(lost.host),
            reason: lost.reason.clone(),
            silent: lost.silent,
        });
        let described: Vec<LostMember> = described.collect();
        let gone: BTreeSet<HostId> = lost.iter().map(|lost| lost.host).collect();
        let left = suspension.suspended.keys().copied();
        let left: Vec<HostId> = left.filter(|host| !gone.contains(host)).collect();
        let reasons = described.iter().map(|lost| lost.reason.clone());
        let names = names(&left);
        // Whether there is nothing to go on with.
        let is_alone = left.is_empty() && by_client && suspension.joining.is_empty();
        let mut accepted = self.accepted.values();
        let hinders = accepted.find(|view| !may_follow(view, &names, by_client));
        if let Some(view) = hinders.filter(|_| !is_alone) {
            let all = view.members.len();
            let left = view.members.iter().filter(|name| names.contains(*name));
            let left = left.count();
            let reasons: String = reasons.map(|reason| format!("{reason}; ")).collect();
            return Err(Hindrance::NoQuorum(JobError::cluster(format!(
                "{reasons}{left} of {all} nodes are left, and a job goes on with more than half of them, or with half of them and its \
                 leader"
            ))));
        }
        Ok((left, described))
    }

    /// How the job of `request` goes on with what is left of its view, which has this session.
    ///
    /// # Errors
    ///
    /// If it cannot.
    pub fn next(
        &mut self,
        (request, session): (&Request, JobId),
        suspension: &Suspension,
    ) -> Result<NextView, Hindrance> {
        let name = |host: HostId| request.members[host.index()].name.clone();
        let (left, described) = self.remaining((request, session), suspension)?;
        let reasons = described.iter().map(|lost| lost.reason.clone());
        let roles = |host: HostId| suspension.connected.get(&host).map(|of| of.1);
        let size = request.setup.placement.len();
        let manages = |host| roles(host) == Some(Role::SetManager);
        // If those that join do not begin, the others have to be a quorum.
        let most = left.len().saturating_sub(1).max(1);
        let joining: Vec<HostId> = suspension.joining.keys().copied().take(most).collect();
        let candidates: Vec<&Member> = request.candidates().chain(&suspension.offered).collect();
        let members = members(&candidates, (&left, &joining), manages);
        let members = members.ok_or_else(|| {
            let problem = if left.is_empty() {
                "no node is left".to_owned()
            } else {
                let names: Vec<String> = left.iter().map(|host| name(*host)).collect();
                format!(
                    "none of the nodes that are left ({}) has the certificate of a set-manager: issue it to two nodes of each \
                     Set",
                    names.join(", ")
                )
            };
            let reasons: Vec<String> = reasons.clone().collect();
            JobError::cluster(format!("{}; {problem}", reasons.join("; ")))
        })?;
        let (hosts, members): (Vec<HostId>, Vec<Member>) = members.into_iter().unzip();
        let withdrawn = suspension.withdrawn.iter();
        let withdrawn = withdrawn.filter_map(|host| candidates.get(host.index()));
        for member in withdrawn {
            *self.losses.entry(member.name.clone()).or_default() += 1;
        }
        let (pool, pauses) = self.pool(&candidates, &hosts, &described);
        let saved = Saved::newest(suspension, &hosts, size);
        self.reasons.extend(reasons);
        if described
            .iter()
            .any(|lost| !self.joined.contains(&lost.name))
            || described.is_empty()
        {
            self.repeated += 1;
        }
        self.count(saved.as_ref().map(|saved| saved.generation))?;
        let numbers = self.accepted.values().map(|view| view.number);
        let number = numbers.max().unwrap_or(0).saturating_add(1);
        let (saved, resumed) = match saved {
            Some(saved) => {
                let joined = hosts.iter().map(|host| joining.contains(host));
                let joined: Vec<bool> = joined.collect();
                let (saved, resumed) = saved.begin(request, (&members, &joined));
                (Some(saved), Some(resumed))
            }
            None if self.begins_anew && request.checkpoint.is_none() => (None, None),
            None => {
                let reasons = self.reasons.join("; ");
                let problem =
                    "the nodes that are left do not have the states of all processes in memory";
                return Err(JobError::cluster(format!("{reasons}; {problem}")).into());
            }
        };
        let joined = hosts.iter().zip(&members);
        let joined = joined.filter(|(host, _)| joining.contains(host));
        let joined: Vec<String> = joined.map(|(_, member)| member.name.clone()).collect();
        self.joined.extend(joined.iter().cloned());
        let is_member = |name: &String| members.iter().any(|member| member.name == *name);
        self.joined.retain(is_member);
        let begins = resumed.as_ref().map_or(0, |resumed| resumed.superstep);
        Ok(NextView {
            job: self.job,
            view: View {
                number,
                saved,
                leader: self.leader.as_ref().and_then(|leader| {
                    let mut members = members.iter();
                    let host = members.position(|member| member.name == *leader)?;
                    Some(HostId::from_index(host))
                }),
                repeated: self.repeated,
                begins_anew: self.begins_anew,
                pool,
                owner: self.owner.clone(),
                awaited: awaited(request, suspension),
            },
            connected: hosts
                .iter()
                .filter_map(|host| suspension.connected.get(host).cloned())
                .collect(),
            joined,
            unproven: self.joined.iter().cloned().collect(),
            members,
            hosts,
            resumed,
            lost: described,
            pauses,
            repeats: suspension.completed.saturating_sub(begins),
            decided: suspension.decided.clone(),
            since: Some(suspension.since),
        })
    }

    /// The pool of the next view, in which those of `candidates` take part that have one of `hosts`, and `lost` ones do not, and how long
    /// each of its nodes is left alone.
    fn pool(
        &mut self,
        candidates: &[&Member],
        hosts: &[HostId],
        lost: &[LostMember],
    ) -> (Vec<Member>, Vec<Duration>) {
        for lost in lost {
            *self.losses.entry(lost.name.clone()).or_default() += 1;
        }
        let all = candidates.iter().enumerate();
        let pool = all.filter(|(index, _)| !hosts.contains(&HostId::from_index(*index)));
        let pool: Vec<Member> = pool.map(|(_, member)| (*member).clone()).collect();
        let pauses = pool.iter().map(|member| {
            let losses = self.losses.get(&member.name).copied().unwrap_or(1);
            let factor = 1 << losses.saturating_sub(1).min(PAUSES_MAX);
            PAUSE * factor
        });
        let pauses = pauses.collect();
        (pool, pauses)
    }

    /// Counts a view that begins with this checkpoint.
    ///
    /// # Errors
    ///
    /// If too many before it did not get further.
    fn count(&mut self, begins: Option<Generation>) -> Result<(), JobError> {
        let is_newer = self.newest < begins;
        self.newest = self.newest.max(begins);
        if is_newer {
            self.repeated = 1;
        }
        if self.repeated <= REPEATED_MAX {
            return Ok(());
        }
        Err(JobError::cluster(format!(
            "{}: {REPEATED_MAX} views in a row ended without a newer checkpoint",
            self.reasons.join("; ")
        )))
    }
}

impl NextView {
    /// The request for it, after `request`: `setup` is that of its members.
    ///
    /// # Errors
    ///
    /// If the setup does not fit the state in which it begins.
    pub fn request(&self, request: &Request, setup: Setup) -> Result<Request, JobError> {
        let setup = match &self.resumed {
            Some(resumed) => resumption::resume(setup, resumed)?,
            None => setup,
        };
        Ok(Request {
            members: self.members.clone(),
            setup,
            view: Some(self.view.clone()),
            is_left: false,
            ..request.clone()
        })
    }
}

/// The number of views in a row that may begin without a newer checkpoint.
const REPEATED_MAX: u32 = 3;

/// The nodes that take no part any more. While two nodes that are there have lost each other, the one leaves that has just joined; of
/// several, or if none has, the one that has complained before and does so again; of several, the one that has lost or is missed by more; of equal ones the one with the higher
/// host.
fn lost_nodes(
    suspension: &Suspension,
    has_joined: impl Fn(HostId) -> bool,
    has_complained: impl Fn(HostId) -> bool,
) -> Vec<LostNode> {
    let mut lost = suspension.lost.clone();
    loop {
        let is_there =
            |host: &HostId| suspension.suspended.contains_key(host) && !lost.contains_key(host);
        let mut counts: BTreeMap<HostId, (bool, usize, &LostNode)> = BTreeMap::new();
        for (host, suspended) in suspension
            .suspended
            .iter()
            .filter(|(host, _)| is_there(host))
        {
            for missed in suspended.lost.iter().filter(|lost| is_there(&lost.host)) {
                let complainer = counts.entry(*host).or_insert((false, 0, missed));
                complainer.0 |= has_complained(*host);
                complainer.1 += 1;
                counts.entry(missed.host).or_insert((false, 0, missed)).1 += 1;
            }
        }
        let worst = counts
            .iter()
            .max_by_key(|(host, (again, count, _))| (has_joined(**host), *again, *count, **host));
        let Some((host, (.., complaint))) = worst else {
            return lost.into_values().collect();
        };
        let leaves = LostNode {
            host: *host,
            ..LostNode::clone(complaint)
        };
        lost.insert(*host, leaves);
    }
}

/// The nodes that leave the job now, of those that are `there`: as many of those that are to as leave all pieces of the newest checkpoint to
/// others, which `decide`. The rest leaves the next view, in which others have new copies. If no other node is there, all do.
fn leaving_nodes(
    suspension: &Suspension,
    mut there: Vec<HostId>,
    (size, is_planned): (usize, bool),
    decide: impl Fn(&[HostId]) -> bool,
) -> Vec<LostNode> {
    let newest = |hosts: &[HostId]| {
        let saved = Saved::newest(suspension, hosts, size);
        saved.map(|saved| saved.generation)
    };
    let whole = newest(&there);
    let is_leaving = |host: &HostId| suspension.leaving.contains_key(host);
    let all_leave = there.iter().all(is_leaving);
    let mut leaving: Vec<HostId> = Vec::new();
    let told = suspension.leaving.keys().copied();
    let told: Vec<HostId> = told.filter(|host| there.contains(host)).collect();
    for host in &told {
        let others = there.iter().copied().filter(|other| other != host);
        let others: Vec<HostId> = others.collect();
        if all_leave || (newest(&others) == whole && decide(&others)) {
            there = others;
            leaving.push(*host);
        }
    }
    if leaving.is_empty() && is_planned {
        // Not even one can leave so, although none is lost: then it is.
        leaving.extend(told.first());
    }
    let lost = |host: HostId| LostNode {
        host,
        reason: suspension.leaving[&host].clone(),
        silent: None,
    };
    leaving.into_iter().map(lost).collect()
}

/// The members of the next view, those that are left and those that join, with their hosts in this one: Set by Set, one that manages
/// first. `None` if none manages.
fn members(
    candidates: &[&Member],
    (left, joining): (&[HostId], &[HostId]),
    manages: impl Fn(HostId) -> bool,
) -> Option<Vec<(HostId, Member)>> {
    let mut sets: Vec<Vec<(HostId, Member)>> = Vec::new();
    let mut without = Vec::new();
    let member = |host: &HostId| Some((*host, (*candidates.get(host.index())?).clone()));
    let mut all: Vec<(HostId, Member)> = left.iter().filter_map(member).collect();
    for (host, joining) in joining.iter().filter_map(member) {
        let last = all
            .iter()
            .rposition(|(_, member)| member.set == joining.set);
        let place = last.map_or(all.len(), |last| last + 1);
        all.insert(place, (host, joining));
    }
    for set in all.chunk_by(|(_, one), (_, other)| one.set == other.set) {
        match set.iter().position(|(host, _)| manages(*host)) {
            Some(first) => {
                let mut set = set.to_vec();
                set[..=first].rotate_right(1);
                sets.push(set);
            }
            None => without.extend_from_slice(set),
        }
    }
    let first = sets.first_mut()?;
    let name = first[0].1.set.clone();
    first.extend(without.into_iter().map(|(host, member)| {
        let set = name.clone();
        (host, Member { set, ..member })
    }));
    Some(sets.into_iter().flatten().collect())
}

/// A checkpoint of which the members of a view have all pieces.
struct Saved {
    generation: Generation,
    /// By rank: the new host of the member that has the piece, and the piece.
    pieces: Vec<(HostId, SavedProcess)>,
}

impl Saved {
    /// The newest one of a job of `size` processes. `hosts` are the hosts of the members in the view that is over.
    fn newest(suspension: &Suspension, hosts: &[HostId], size: usize) -> Option<Self> {
        let mut all: BTreeMap<Generation, BTreeMap<Rank, (HostId, SavedProcess)>> = BTreeMap::new();
        for (index, host) in hosts.iter().enumerate() {
            let suspended = suspension.suspended.get(host);
            for saved in suspended.iter().flat_map(|suspended| &suspended.saved) {
                let generation = Generation {
                    incarnation: saved.incarnation,
                    superstep: saved.superstep,
                };
                let pieces = all.entry(generation).or_default();
                for piece in &saved.pieces {
                    let found = (HostId::from_index(index), *piece);
                    let known = pieces.entry(piece.rank).or_insert(found);
                    // The piece of the process itself, and then the lowest host.
                    if known.1.is_copy && !piece.is_copy {
                        *known = found;
                    }
                }
            }
        }
        let uncovered = usize::from(mutant::is(Mutant::RestartUncovered));
        let covering = all.into_iter().rev();
        let mut covering = covering.filter(|(_, pieces)| size <= pieces.len() + uncovered);
        let (generation, pieces) = covering.next()?;
        Some(Self {
            generation,
            pieces: pieces.into_values().collect(),
        })
    }

    /// The state in which `members` begin with it, after the view of `request`. `joined`: which of them join.
    fn begin(
        self,
        request: &Request,
        (members, joined): (&[Member], &[bool]),
    ) -> (SavedView, ResumedJob) {
        let work = self.pieces.iter().map(|(_, piece)| {
            let is_running = piece.halted.is_none();
            is_running.then_some(Instructions(piece.work))
        });
        let stays = self.pieces.iter().map(|(host, piece)| {
            // The output of a process that has halted stays where it is.
            (!piece.is_copy || piece.halted.is_some()).then_some(*host)
        });
        let (work, mut stays): (Vec<_>, Vec<_>) = work.zip(stays).unzip();
        let capacities = members.iter().map(capacity);
        let capacities: Vec<f64> = capacities.collect();
        let mut relieving = joined.to_vec();
        for (rank, home) in homes(request, members) {
            let is_running = work.get(rank.index()).is_some_and(Option::is_some);
            if joined[home] && is_running {
                stays[rank.index()] = Some(HostId::from_index(home));
                // It gets those that have waited for it, as in a simulation.
                relieving[home] = false;
            }
        }
        relieve(&work, &mut stays, (&capacities, &relieving));
        let incarnation = request.setup.incarnation().max(self.generation.incarnation) + 1;
        let resumed = ResumedJob {
            incarnation,
            superstep: self.generation.superstep,
            placement: resumed_placement(&work, &stays, &capacities),
            halted: self.pieces.iter().map(|(_, piece)| piece.halted).collect(),
        };
        let saved = SavedView {
            incarnation: self.generation.incarnation,
            holders: self.pieces.iter().map(|(host, _)| *host).collect(),
        };
        (saved, resumed)
    }
}

/// What the next view knows of the hosts that the job of `request` awaits.
fn awaited(request: &Request, suspension: &Suspension) -> Option<Awaited> {
    let before = request.view.as_ref()?.awaited.as_ref()?;
    let decided = suspension.decided.as_ref();
    let asked = decided.map(|decided| decided.keys().cloned().collect());
    Some(Awaited {
        placement: Vec::new(),
        homes: before.homes.clone(),
        // A node that begins to lead knows no more than the view before.
        passed: seconds(suspension.lasted).max(before.passed),
        asked: asked.or_else(|| before.asked.clone()),
    })
}

/// The processes that have waited for one of `members`, each with the place of that.
fn homes<'a>(
    request: &'a Request,
    members: &'a [Member],
) -> impl Iterator<Item = (Rank, usize)> + 'a {
    let view = request.view.as_ref();
    let awaited = view.and_then(|view| view.awaited.as_ref());
    let homes = awaited.into_iter().flat_map(|awaited| &awaited.homes);
    homes.flat_map(|home| {
        let mut names = members.iter();
        let place = names.position(|member| member.name == home.host);
        let ranks = place.map(|place| home.processes.iter().map(move |rank| (*rank, place)));
        ranks.into_iter().flatten()
    })
}

/// Has processes go to hosts that have `joined`, from those that would end last without that, as long as they end earlier then. `work`,
/// `stays` and the capacities are as for [`resumed_placement`].
fn relieve(
    work: &[Option<Instructions>],
    stays: &mut [Option<HostId>],
    (capacities, joined): (&[f64], &[bool]),
) {
    let mut hosts = vec![(0.0, BTreeSet::new()); capacities.len()];
    for (index, (work, stays)) in work.iter().zip(&*stays).enumerate() {
        if let (Some(work), Some(host)) = (work, stays) {
            // The first superstep may have computed nothing.
            let work = work.0.max(1);
            let (load, processes) = &mut hosts[host.index()];
            *load += work as f64;
            processes.insert((work, index));
        }
    }
    loop {
        let time = |index: usize| hosts[index].0 / capacities[index];
        let longest = (0..hosts.len()).max_by(|one, other| time(*one).total_cmp(&time(*other)));
        let joined = (0..hosts.len()).filter(|index| joined[*index]);
        let shortest = joined.min_by(|one, other| time(*one).total_cmp(&time(*other)));
        let (Some(from), Some(to)) = (longest, shortest) else {
            return;
        };
        let after = |work: u64| {
            let work = work as f64;
            let left = (hosts[from].0 - work) / capacities[from];
            left.max((hosts[to].0 + work) / capacities[to])
        };
        // Both end together without so much.
        let part =
            (time(from) - time(to)).max(0.0) / (capacities[from].recip() + capacities[to].recip());
        let processes = &hosts[from].1;
        let below = processes.range(..=(whole(part), usize::MAX)).next_back();
        let above = processes.range((whole(part).saturating_add(1), 0)..).next();
        let candidates = below.into_iter().chain(above);
        let best = candidates.min_by(|one, other| after(one.0).total_cmp(&after(other.0)));
        let Some((work, index)) = best.copied().filter(|(work, _)| after(*work) < time(from))
        else {
            return;
        };
        for (host, sign) in [(from, -1.0), (to, 1.0)] {
            hosts[host].0 += sign * work as f64;
        }
        hosts[from].1.remove(&(work, index));
        hosts[to].1.insert((work, index));
        stays[index] = Some(HostId::from_index(to));
    }
}

/// How long a node is left alone that has been lost once.
const PAUSE: Duration = Duration::from_secs(2);
/// How often that doubles.
const PAUSES_MAX: u32 = 9;

/// What a member can compute, compared with others.
pub fn capacity(member: &Member) -> f64 {
    member.speed * f64::from(member.slots.max(1))
}

#[cfg(test)]
mod tests;
