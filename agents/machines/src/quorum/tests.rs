//! Every course of small jobs: who obeys whom, which views are submitted and accepted, and what is lost on the way.
//!
//! What a node votes and what a leader may submit are the functions of this module. The rest is a model: leaders submit views,
//! and nodes accept them.
//!
//! | what happens | in the model |
//! |---|---|
//! | a node loses its leader | at any time; what was under way is lost |
//! | a leader loses a node | it does not wait for its answer: it decides with any that it has |
//! | an order is late or lost | orders on one connection are delivered in order, at any time or never |
//! | an answer is late or lost | it is known at once: a late one is that of a node that the leader has lost |
//! | a leader crashes or gives up | it does nothing any more |
//! | a node crashes | it does nothing any more; whether the others can go on is asked for all groups of nodes |
//! | a node is started again | it knows nothing, and may join a view under the same name |
//! | a node joins | a leader submits a view to it that is not in the job |

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use super::*;

type View = AcceptedView<u8>;

/// What is explored.
#[derive(Clone, Copy)]
struct Bounds {
    /// The number of nodes.
    nodes: u8,
    /// Whether node 0 leads the first view; else the client does.
    is_led_by_node: bool,
    /// How many times nodes may ask to lead.
    attempts: u8,
    /// How many views may be submitted after the first.
    views: u64,
    /// How many of the nodes are not in the first view.
    joining: u8,
    /// How many times nodes may be started again.
    restarts: u8,
    /// What is wrong with the rules.
    defect: Option<Defect>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Defect {
    /// A view counts alone as soon as it is submitted.
    CountLastAlone,
    /// One node less than a quorum decides.
    DecideWithFewer,
    /// A node that joins takes its first view for a complete one.
    JoinAsMember,
}

#[derive(Clone, Hash)]
struct State {
    nodes: Vec<NodeState>,
    /// By number.
    leaders: BTreeMap<u8, LeaderState>,
    attempts: u8,
    restarts: u8,
    /// The number of views that have been submitted after the first.
    views: u64,
}

#[derive(Clone, Hash)]
struct NodeState {
    /// The number of its leader.
    obeyed: Option<u8>,
    /// What the leader has sent and the node has not received.
    orders: Vec<Order>,
    is_in_session: bool,
    /// `None`: it is not in the job.
    views: Option<Rc<AcceptedViews<u8>>>,
}

/// A client, or a node that asks to lead or leads.
#[derive(Clone, Hash)]
struct LeaderState {
    /// The node; `None`: the client.
    node: Option<u8>,
    phase: Phase,
    /// The last view that it knows.
    last: Rc<View>,
    /// The views beside it that count, by session.
    others: BTreeMap<u64, Rc<View>>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Phase {
    /// It asks nodes to obey it, and these do.
    Asking(BTreeSet<u8>),
    /// Nodes leave the session of its view; these have.
    Suspending(BTreeSet<u8>),
    /// Members accept its view: these have.
    Submitted(BTreeSet<u8>),
    Complete,
}

#[derive(Clone, Hash)]
enum Order {
    Submit(Rc<View>),
    Meet,
    Suspend,
}

impl Bounds {
    fn first(self) -> State {
        let view = AcceptedView {
            session: 0,
            number: 1,
            members: (0..self.nodes - self.joining).collect(),
            leader: self.is_led_by_node.then_some(0),
        };
        let node = NodeState {
            obeyed: Some(0),
            orders: Vec::new(),
            is_in_session: true,
            views: Some(Rc::new(AcceptedViews::new(view.clone()))),
        };
        let free = NodeState {
            obeyed: None,
            orders: Vec::new(),
            is_in_session: false,
            views: None,
        };
        let leader = LeaderState {
            node: view.leader,
            phase: Phase::Complete,
            others: BTreeMap::new(),
            last: Rc::new(view),
        };
        let members = vec![node; usize::from(self.nodes - self.joining)];
        let free = vec![free; usize::from(self.joining)];
        State {
            nodes: [members, free].concat(),
            leaders: BTreeMap::from([(0, leader)]),
            attempts: self.attempts,
            restarts: self.restarts,
            views: 0,
        }
    }

    /// All states that may be the next one.
    fn next(self, state: &State) -> Vec<State> {
        // Afterwards, only what has been submitted already makes a difference: losses and leaders do not.
        let may_submit = state.views < self.views;
        let mut next = Vec::new();
        let mut push = |change: &dyn Fn(&mut State)| {
            let mut state = state.clone();
            change(&mut state);
            next.push(state);
        };
        for place in 0..self.nodes {
            let node = state.node(place);
            if may_submit && node.obeyed.is_some() {
                push(&|state| state.lose_leader(place));
            } else if may_submit && 0 < state.attempts && node.complete().is_some() {
                push(&|state| state.ask_to_lead(place));
            }
            if may_submit && 0 < state.restarts && node.views.is_some() {
                push(&|state| state.restart(place));
            }
            if !node.orders.is_empty() {
                push(&|state| state.receive(place, self.defect));
            }
        }
        for (number, leader) in state.leaders.iter().filter(|_| may_submit) {
            for place in 0..self.nodes {
                if state.may_obey(place, leader) {
                    push(&|state| state.obey(place, *number));
                }
            }
            match &leader.phase {
                Phase::Submitted(_) | Phase::Complete => push(&|state| state.suspend(*number)),
                Phase::Asking(there) | Phase::Suspending(there) => {
                    if leader.may_submit(self, there) {
                        push(&|state| state.submit(*number, &[]));
                        let free = (0..self.nodes).filter(|place| {
                            let node = state.node(*place);
                            node.views.is_none() && node.obeyed.is_none() && !there.contains(place)
                        });
                        let free: Vec<u8> = free.collect();
                        for joining in free.chunks(1) {
                            push(&|state| state.submit(*number, joining));
                        }
                        if 1 < free.len() {
                            push(&|state| state.submit(*number, &free));
                        }
                    }
                }
            }
        }
        next.iter_mut().for_each(State::forget);
        next
    }
}

impl LeaderState {
    /// Whether the nodes that are there may be the members of the next view.
    fn may_submit(&self, bounds: Bounds, there: &BTreeSet<u8>) -> bool {
        let others = self.others.values();
        let others = others.filter(|_| bounds.defect != Some(Defect::CountLastAlone));
        let mut counted = others.chain([&self.last]);
        counted.all(|view| {
            let mut votes = there.clone();
            if bounds.defect == Some(Defect::DecideWithFewer) {
                let missing = view.members.iter().find(|member| !votes.contains(member));
                votes.extend(missing.copied());
            }
            may_follow(view, &votes, self.node.is_none())
        }) && !there.is_empty()
    }
}

impl State {
    fn node(&self, place: u8) -> &NodeState {
        &self.nodes[usize::from(place)]
    }

    fn lose_leader(&mut self, place: u8) {
        let node = &mut self.nodes[usize::from(place)];
        node.obeyed = None;
        node.orders.clear();
        node.is_in_session = false;
    }

    /// A node ends, and is started again.
    fn restart(&mut self, place: u8) {
        self.restarts -= 1;
        self.lose_leader(place);
        self.nodes[usize::from(place)].views = None;
        let of_node = self.leaders.iter();
        let of_node = of_node.filter(|(_, leader)| leader.node == Some(place));
        let ended: Vec<u8> = of_node.map(|(number, _)| *number).collect();
        for number in ended {
            self.leaders.remove(&number);
        }
    }

    /// A node asks to lead from the last complete view that it knows.
    fn ask_to_lead(&mut self, place: u8) {
        self.attempts -= 1;
        let Some(view) = self.node(place).complete().cloned() else {
            return;
        };
        let leader = LeaderState {
            node: Some(place),
            phase: Phase::Asking(BTreeSet::new()),
            others: BTreeMap::new(),
            last: Rc::new(view),
        };
        self.leaders.insert(10 + self.attempts, leader);
    }

    fn may_obey(&self, place: u8, leader: &LeaderState) -> bool {
        let node = self.node(place);
        matches!(leader.phase, Phase::Asking(_))
            && node.obeyed.is_none()
            && leader.last.members.contains(&place)
            && leader
                .node
                .is_some_and(|name| node.since(leader.last.session, &name).is_some())
    }

    fn obey(&mut self, place: u8, number: u8) {
        let (Some(leader), Some(node)) = (
            self.leaders.get_mut(&number),
            self.nodes.get_mut(usize::from(place)),
        ) else {
            return;
        };
        let name = leader.node.unwrap_or_default();
        if let Some((_, since)) = node.since(leader.last.session, &name) {
            let since = since
                .iter()
                .map(|view| (view.session, Rc::new(view.clone())));
            leader.others.extend(since);
        }
        if let Phase::Asking(there) = &mut leader.phase {
            there.insert(place);
        }
        node.obeyed = Some(number);
    }

    /// A leader has lost a node of its view, and has the others leave the session.
    fn suspend(&mut self, number: u8) {
        if let Some(leader) = self.leaders.get_mut(&number) {
            if leader.phase == Phase::Complete {
                leader.others.clear();
            }
            leader.phase = Phase::Suspending(BTreeSet::new());
            self.send(number, &Order::Suspend);
        }
    }

    fn send(&mut self, number: u8, order: &Order) {
        let members = &self.leaders[&number].last.members;
        for place in members {
            let node = &mut self.nodes[usize::from(*place)];
            if node.obeyed == Some(number) {
                node.orders.push(order.clone());
            }
        }
    }

    /// A leader submits the next view to the nodes that are there, and to some that join.
    fn submit(&mut self, number: u8, joining: &[u8]) {
        let Some(leader) = self.leaders.get_mut(&number) else {
            return;
        };
        let (Phase::Asking(there) | Phase::Suspending(there)) = &leader.phase else {
            return;
        };
        self.views += 1;
        let counted = leader.others.values().chain([&leader.last]);
        let highest = counted.map(|view| view.number).max();
        let next = Rc::new(AcceptedView {
            session: self.views,
            number: highest.unwrap_or_default() + 1,
            members: there.iter().chain(joining).copied().collect(),
            leader: leader.node.filter(|node| there.contains(node)),
        });
        let before = std::mem::replace(&mut leader.last, Rc::clone(&next));
        leader.others.insert(before.session, before);
        leader.phase = Phase::Submitted(BTreeSet::new());
        for joining in joining {
            self.nodes[usize::from(*joining)].obeyed = Some(number);
        }
        self.send(number, &Order::Submit(next));
    }

    /// A node receives the next order of its leader.
    fn receive(&mut self, place: u8, defect: Option<Defect>) {
        let node = &mut self.nodes[usize::from(place)];
        let order = node.orders.remove(0);
        let number = node.obeyed.unwrap_or_default();
        let Some(leader) = self.leaders.get_mut(&number) else {
            return;
        };
        match order {
            Order::Submit(view) => {
                let last = node.views.as_ref().map(|views| views.last().number);
                if node.is_in_session || Some(view.number) <= last {
                    return;
                }
                match &mut node.views {
                    Some(views) => Rc::make_mut(views).accept((*view).clone()),
                    views => {
                        let joining = if defect == Some(Defect::JoinAsMember) {
                            AcceptedViews::new
                        } else {
                            AcceptedViews::joining
                        };
                        *views = Some(Rc::new(joining((*view).clone())));
                    }
                }
                node.is_in_session = true;
                if let Phase::Submitted(accepted) = &mut leader.phase
                    && view.session == leader.last.session
                {
                    accepted.insert(place);
                    if accepted.len() == leader.last.members.len() {
                        leader.phase = Phase::Complete;
                        self.send(number, &Order::Meet);
                    }
                }
            }
            Order::Meet => {
                if let Some(views) = &mut node.views {
                    Rc::make_mut(views).complete_last();
                }
            }
            Order::Suspend => {
                node.is_in_session = false;
                // The answer to an earlier order is that of a node which the leader has lost.
                let is_last = node.orders.is_empty() && leader.last.members.contains(&place);
                if let Phase::Suspending(there) = &mut leader.phase
                    && is_last
                {
                    there.insert(place);
                }
            }
        }
    }

    /// Forgets the leaders that no node obeys any more.
    fn forget(&mut self) {
        let nodes = &self.nodes;
        self.leaders.retain(|number, leader| {
            let is_new = matches!(&leader.phase, Phase::Asking(there) if there.is_empty());
            is_new || nodes.iter().any(|node| node.obeyed == Some(*number))
        });
    }

    /// The views all of whose members are in them: these make progress.
    fn whole_views(&self) -> BTreeSet<&View> {
        let is_in = |view: &View, member: u8| {
            let node = self.node(member);
            let last = node.views.as_ref().map(|views| views.last().session);
            node.is_in_session && last == Some(view.session)
        };
        let views = self.nodes.iter().filter_map(|node| node.views.as_ref());
        let views = views.map(|views| views.last());
        let whole = views.filter(|view| view.members.iter().all(|member| is_in(view, *member)));
        whole.collect()
    }

    /// Whether one of these nodes could lead now if they lost their leaders and reached each other.
    fn can_go_on(&self, alive: &BTreeSet<u8>) -> bool {
        alive.iter().any(|name| {
            let Some(last) = self.node(*name).complete() else {
                return false;
            };
            let mut counted = vec![last];
            let mut there = BTreeSet::new();
            for place in alive {
                if let Some((_, since)) = self.node(*place).since(last.session, name)
                    && last.members.contains(place)
                {
                    there.insert(*place);
                    counted.extend(since);
                }
            }
            counted.iter().all(|view| may_follow(view, &there, false))
        })
    }

    /// Whether these nodes are a quorum of each view that may be the last one: of those from the last complete one on that one of
    /// them knows. A node that this one has left out does not count.
    fn are_quorum(&self, alive: &BTreeSet<u8>) -> bool {
        let complete = alive
            .iter()
            .filter_map(|place| self.node(*place).complete());
        let Some(last) = complete.max_by_key(|view| view.number) else {
            return false;
        };
        let members = last.members.iter().copied();
        // One that has been started again does not know it, even if it has joined since.
        let knows = |views: &Rc<AcceptedViews<u8>>| {
            views.views[0].number < last.number || views.views.contains(last)
        };
        let is_there = |member: &u8| {
            let views = self.node(*member).views.as_ref();
            alive.contains(member) && views.is_some_and(knows)
        };
        let there: BTreeSet<u8> = members.filter(is_there).collect();
        let since = there.iter().filter_map(|place| {
            let since = self.node(*place).since(last.session, &last.members[0]);
            since.map(|(_, since)| since)
        });
        let mut counted = since.flatten().chain([last]);
        counted.all(|view| may_follow(view, &there, false))
    }
}

impl NodeState {
    /// As [`AcceptedViews::complete`], if the node is in the job.
    fn complete(&self) -> Option<&View> {
        self.views.as_ref()?.complete()
    }

    /// As [`AcceptedViews::since`], if the node is in the job.
    fn since(&self, session: u64, candidate: &u8) -> Option<(&View, &[View])> {
        self.views.as_ref()?.since(session, candidate)
    }
}

/// Two states of one hash count as one: among a million, that happens once in ten million explorations.
fn hash(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// What an exploration found.
struct Explored {
    states: usize,
    /// States in which a view after the first makes progress.
    whole: usize,
    /// What happened that must not.
    problem: Option<&'static str>,
}

fn explore(bounds: Bounds) -> Explored {
    let first = bounds.first();
    let mut seen = BTreeSet::from([hash(&first)]);
    let mut known = BTreeSet::new();
    let mut open = vec![first];
    let mut explored = Explored {
        states: 0,
        whole: 0,
        problem: None,
    };
    while let Some(state) = open.pop() {
        explored.states += 1;
        let next = bounds.next(&state).into_iter();
        open.extend(next.filter(|next| seen.insert(hash(next))));
        let whole = state.whole_views();
        explored.whole += usize::from(whole.iter().any(|view| 1 < view.number));
        if 1 < whole.len() {
            explored.problem = Some("two views make progress");
            return explored;
        }
        let views: Vec<_> = state.nodes.iter().map(|node| &node.views).collect();
        if !known.insert(hash(&views)) {
            // It has been asked of these views.
            continue;
        }
        let mut groups = (1u32..1 << bounds.nodes).map(|group| {
            let nodes = (0..bounds.nodes).filter(|node| group >> node & 1 == 1);
            nodes.collect::<BTreeSet<u8>>()
        });
        let is_sound = bounds.defect.is_none();
        if is_sound && groups.any(|group| state.are_quorum(&group) && !state.can_go_on(&group)) {
            explored.problem = Some("no node can lead although a quorum is alive");
            return explored;
        }
    }
    explored
}

const BOUNDS: Bounds = Bounds {
    nodes: 2,
    is_led_by_node: false,
    attempts: 2,
    views: 3,
    joining: 0,
    restarts: 0,
    defect: None,
};

fn check(bounds: Bounds) {
    let Explored {
        states,
        whole,
        problem,
    } = explore(bounds);
    let (nodes, leader) = (bounds.nodes, bounds.is_led_by_node);
    println!(
        "{nodes} nodes, led by one: {leader}: {states} states, {whole} with progress after the first view"
    );
    assert_eq!(problem, None);
    assert!(0 < whole);
}

#[test]
fn at_most_one_view_of_two_nodes_makes_progress() {
    for is_led_by_node in [false, true] {
        check(Bounds {
            is_led_by_node,
            views: 2,
            ..BOUNDS
        });
    }
}

#[test]
fn at_most_one_view_of_three_nodes_makes_progress() {
    for (is_led_by_node, attempts, views) in [(false, 2, 2), (true, 1, 3)] {
        check(Bounds {
            nodes: 3,
            is_led_by_node,
            attempts,
            views,
            ..BOUNDS
        });
    }
}

#[test]
fn at_most_one_view_of_four_nodes_makes_progress() {
    check(Bounds {
        nodes: 4,
        attempts: 1,
        views: 2,
        ..BOUNDS
    });
}

#[test]
fn at_most_one_view_makes_progress_that_nodes_join_or_that_knows_nothing_any_more() {
    for (nodes, joining, restarts, is_led_by_node) in [
        (3, 1, 0, true),
        (3, 1, 0, false),
        (3, 1, 1, true),
        (3, 0, 1, true),
        (4, 1, 0, true),
    ] {
        check(Bounds {
            nodes,
            joining,
            restarts,
            is_led_by_node,
            attempts: 1,
            views: 2,
            ..BOUNDS
        });
    }
}

/// The first view has nodes 0 to 2, which node 0 leads, and 3 and 4 join with the second. The leader is lost when they and node 1
/// have accepted that; node 2 does not know of it.
#[test]
fn nodes_that_join_do_not_go_on_before_their_view_is_complete_beside_those_of_the_view_before() {
    for defect in [None, Some(Defect::JoinAsMember)] {
        let bounds = Bounds {
            nodes: 5,
            joining: 2,
            is_led_by_node: true,
            ..BOUNDS
        };
        let mut state = bounds.first();
        state.suspend(0);
        for place in 0..3 {
            state.receive(place, defect);
        }
        state.submit(0, &[3, 4]);
        for place in [1, 3, 4] {
            state.receive(place, defect);
        }
        for place in 0..5 {
            state.lose_leader(place);
        }
        // Nodes 0 and 2 go on from the first view.
        state.ask_to_lead(2);
        for place in [0, 2] {
            assert!(state.may_obey(place, &state.leaders[&11]));
            state.obey(place, 11);
        }
        assert!(state.leaders[&11].may_submit(bounds, &BTreeSet::from([0, 2])));
        state.submit(11, &[]);
        for place in [0, 2] {
            state.receive(place, defect);
        }
        assert_eq!(state.whole_views().len(), 1);
        let asks = state.node(3).complete().is_some();
        assert_eq!(asks, defect.is_some());
        if asks {
            state.ask_to_lead(3);
            for place in [1, 3, 4] {
                state.obey(place, 10);
            }
            state.submit(10, &[]);
            for place in [1, 3, 4] {
                state.receive(place, defect);
            }
            assert_eq!(state.whole_views().len(), 2, "the job is split");
        }
    }
}

#[test]
fn rules_with_a_defect_are_found_out() {
    for defect in [Defect::CountLastAlone, Defect::DecideWithFewer] {
        let explored = explore(Bounds {
            nodes: 3,
            is_led_by_node: true,
            defect: Some(defect),
            ..BOUNDS
        });
        println!("{} states, {:?}", explored.states, explored.problem);
        assert!(explored.problem.is_some());
    }
}
