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
    /// What is wrong with the rules.
    defect: Option<Defect>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Defect {
    /// A view counts alone as soon as it is submitted.
    CountLastAlone,
    /// One node less than a quorum decides.
    DecideWithFewer,
}

#[derive(Clone, Hash)]
struct State {
    nodes: Vec<NodeState>,
    /// By number.
    leaders: BTreeMap<u8, LeaderState>,
    attempts: u8,
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
    views: Rc<AcceptedViews<u8>>,
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
            members: (0..self.nodes).collect(),
            leader: self.is_led_by_node.then_some(0),
        };
        let node = NodeState {
            obeyed: Some(0),
            orders: Vec::new(),
            is_in_session: true,
            views: Rc::new(AcceptedViews::new(view.clone())),
        };
        let leader = LeaderState {
            node: view.leader,
            phase: Phase::Complete,
            others: BTreeMap::new(),
            last: Rc::new(view),
        };
        State {
            nodes: vec![node; usize::from(self.nodes)],
            leaders: BTreeMap::from([(0, leader)]),
            attempts: self.attempts,
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
            } else if may_submit && 0 < state.attempts {
                push(&|state| state.ask_to_lead(place));
            }
            if !node.orders.is_empty() {
                push(&|state| state.receive(place));
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
                        push(&|state| state.submit(*number));
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

    /// A node asks to lead from the last complete view that it knows.
    fn ask_to_lead(&mut self, place: u8) {
        self.attempts -= 1;
        let view = self.node(place).views.complete().clone();
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
                .is_some_and(|name| node.views.since(leader.last.session, &name).is_some())
    }

    fn obey(&mut self, place: u8, number: u8) {
        let (Some(leader), Some(node)) = (
            self.leaders.get_mut(&number),
            self.nodes.get_mut(usize::from(place)),
        ) else {
            return;
        };
        let name = leader.node.unwrap_or_default();
        if let Some((_, since)) = node.views.since(leader.last.session, &name) {
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

    /// A leader submits the next view to the nodes that are there.
    fn submit(&mut self, number: u8) {
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
            members: there.iter().copied().collect(),
            leader: leader.node.filter(|node| there.contains(node)),
        });
        let before = std::mem::replace(&mut leader.last, Rc::clone(&next));
        leader.others.insert(before.session, before);
        leader.phase = Phase::Submitted(BTreeSet::new());
        self.send(number, &Order::Submit(next));
    }

    /// A node receives the next order of its leader.
    fn receive(&mut self, place: u8) {
        let node = &mut self.nodes[usize::from(place)];
        let order = node.orders.remove(0);
        let number = node.obeyed.unwrap_or_default();
        let Some(leader) = self.leaders.get_mut(&number) else {
            return;
        };
        match order {
            Order::Submit(view) => {
                if node.is_in_session || view.number <= node.views.last().number {
                    return;
                }
                Rc::make_mut(&mut node.views).accept((*view).clone());
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
            Order::Meet => Rc::make_mut(&mut node.views).complete_last(),
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
            node.is_in_session && node.views.last().session == view.session
        };
        let views = self.nodes.iter().map(|node| node.views.last());
        let whole = views.filter(|view| view.members.iter().all(|member| is_in(view, *member)));
        whole.collect()
    }

    /// Whether one of these nodes could lead now if they lost their leaders and reached each other.
    fn can_go_on(&self, alive: &BTreeSet<u8>) -> bool {
        alive.iter().any(|name| {
            let last = self.node(*name).views.complete();
            let mut counted = vec![last];
            let mut there = BTreeSet::new();
            for place in alive {
                let views = &self.node(*place).views;
                if let Some((_, since)) = views.since(last.session, name)
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
        let views = |place: &u8| &self.node(*place).views;
        let complete = alive.iter().map(|place| views(place).complete());
        let Some(last) = complete.max_by_key(|view| view.number) else {
            return false;
        };
        let members = last.members.iter().copied();
        let there: BTreeSet<u8> = members.filter(|member| alive.contains(member)).collect();
        let since = there.iter().filter_map(|place| {
            let since = views(place).since(last.session, &last.members[0]);
            since.map(|(_, since)| since)
        });
        let mut counted = since.flatten().chain([last]);
        counted.all(|view| may_follow(view, &there, false))
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
        if groups.any(|group| state.are_quorum(&group) && !state.can_go_on(&group)) {
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
