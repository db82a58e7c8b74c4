use std::time::Instant as Clock;

use proptest::prelude::*;
use protocol::{SavedPieces, Suspended};

use super::*;
use crate::client::tests::request as request_on_six;

/// Hosts 0 to 2 are a Set, 3 and 4 another, 5 a third; two processes.
fn request() -> Request {
    let mut request = request_on_six(None);
    for (index, member) in request.members.iter_mut().enumerate() {
        member.set = ["a", "a", "a", "b", "b", "c"][index].to_owned();
    }
    request.view = Some(View::first(true));
    request
}

fn piece(rank: u32, is_copy: bool) -> SavedProcess {
    SavedProcess {
        rank: Rank(rank),
        is_copy,
        halted: None,
        work: 10,
    }
}

fn saved(superstep: u64, pieces: &[(u32, bool)]) -> SavedPieces {
    SavedPieces {
        incarnation: 0,
        superstep,
        pieces: pieces
            .iter()
            .map(|(rank, is_copy)| piece(*rank, *is_copy))
            .collect(),
    }
}

fn lost(host: u32) -> LostNode {
    LostNode {
        host: HostId(host),
        reason: format!("n{host} is lost"),
        silent: None,
    }
}

/// What is left if these nodes are lost, and the others have lost these, all nodes being Set Managers.
fn left(gone: &[u32], complaints: &[(u32, u32)]) -> Suspension {
    let mut suspension = Suspension {
        since: Clock::now(),
        lost: gone
            .iter()
            .map(|host| (HostId(*host), lost(*host)))
            .collect(),
        suspended: BTreeMap::new(),
        connected: (0..6)
            .map(|host| {
                (
                    HostId(host),
                    (request_on_six(None).builds.own, Role::SetManager),
                )
            })
            .collect(),
        completed: 30,
        is_complete: true,
        has_begun: true,
        joining: BTreeMap::new(),
        withdrawn: Vec::new(),
        offered: Vec::new(),
        leaving: BTreeMap::new(),
        decided: None,
        lasted: Duration::ZERO,
    };
    for host in (0..6).filter(|host| !gone.contains(host)) {
        let of_host = complaints.iter().filter(|(by, _)| *by == host);
        let suspended = Suspended {
            lost: of_host.map(|(_, other)| lost(*other)).collect(),
            saved: Vec::new(),
            completed: 0,
            leaves: None,
            views: Vec::new(),
        };
        suspension.suspended.insert(HostId(host), suspended);
    }
    suspension
}

/// Gives a node pieces.
fn with(mut suspension: Suspension, host: u32, pieces: SavedPieces) -> Suspension {
    let suspended = suspension.suspended.get_mut(&HostId(host)).unwrap();
    suspended.saved.push(pieces);
    suspension
}

fn next(suspension: &Suspension) -> Result<NextView, String> {
    let request = request();
    let job = JobId(std::num::NonZeroU64::MIN);
    let next = Views::of(job, &request).next((&request, job), suspension);
    next.map_err(message)
}

fn message(hindrance: Hindrance) -> String {
    JobError::from(hindrance).message
}

#[test]
fn a_view_begins_with_the_newest_checkpoint_that_is_whole_and_processes_stay_where_they_were() {
    // p1 was on host 0 and p2 on host 3, which is lost; its buddy is host 1.
    let suspension = with(left(&[3], &[]), 0, saved(20, &[(0, false)]));
    let suspension = with(suspension, 1, saved(20, &[(1, true)]));
    // A newer one, of which a piece is lost.
    let suspension = with(suspension, 0, saved(25, &[(0, false)]));
    let next = next(&suspension).unwrap();
    assert_eq!(next.hosts, [0, 1, 2, 4, 5].map(HostId));
    assert_eq!(next.repeats, 10);
    assert_eq!(next.lost[0].reason, "n3 is lost");
    let resumed = next.resumed.unwrap();
    assert_eq!((resumed.incarnation, resumed.superstep), (1, 20));
    assert_eq!(resumed.placement[0], HostId(0));
    assert_ne!(
        resumed.placement[1],
        HostId(0),
        "the other hosts have no work"
    );
    let saved = next.view.saved.unwrap();
    assert_eq!((next.view.number, saved.incarnation), (2, 0));
    assert_eq!(saved.holders, [0, 1].map(HostId));
}

#[test]
fn a_process_stays_where_its_own_piece_is_although_a_lower_host_has_a_copy() {
    let suspension = with(left(&[5], &[]), 0, saved(20, &[(0, false), (1, true)]));
    let suspension = with(suspension, 3, saved(20, &[(0, true), (1, false)]));
    let next = next(&suspension).unwrap();
    assert_eq!(next.resumed.unwrap().placement, [0, 3].map(HostId));
    assert_eq!(next.view.saved.unwrap().holders, [0, 3].map(HostId));
}

#[test]
fn without_a_whole_checkpoint_a_job_begins_anew_if_it_can() {
    let suspension = with(left(&[3], &[]), 0, saved(20, &[(0, false)]));
    let next_view = next(&suspension).unwrap();
    assert_eq!((next_view.resumed, next_view.view.saved), (None, None));
    assert_eq!(next_view.repeats, 30);
    let mut request = request();
    request.checkpoint = Some("/shared".to_owned());
    let job = JobId(std::num::NonZeroU64::MIN);
    let refused = Views::of(job, &request).next((&request, job), &suspension);
    assert_eq!(
        refused.map_err(message).unwrap_err(),
        "n3 is lost; the nodes that are left do not have the states of all processes in memory"
    );
}

#[test]
fn of_nodes_that_have_lost_each_other_one_leaves() {
    let gone = |complaints: &[(u32, u32)]| {
        let next = next(&left(&[], complaints)).unwrap();
        let lost = next.lost.iter().map(|lost| lost.name[1..].parse().unwrap());
        lost.collect::<Vec<u32>>()
    };
    // Of two, the higher one, whichever of them says so.
    assert_eq!(gone(&[(1, 4)]), [4]);
    assert_eq!(gone(&[(4, 1), (1, 4)]), [4]);
    // The one that most have lost.
    assert_eq!(gone(&[(4, 1), (5, 1)]), [1]);
    // 1 and 2 hear neither 3 nor 4: a partition, in which the upper side leaves one by one.
    assert_eq!(gone(&[(1, 3), (1, 4), (2, 3), (2, 4)]), [3, 4]);
    assert_eq!(gone(&[]), [0; 0]);
}

#[test]
fn each_set_has_a_manager_whose_certificate_allows_it() {
    let members = |gone: &[u32], managing: &[u32]| {
        let mut suspension = left(gone, &[]);
        for (host, connected) in &mut suspension.connected {
            if !managing.contains(&host.0) {
                connected.1 = Role::Node;
            }
        }
        let next = next(&suspension)?;
        let places = next.hosts.iter().zip(&next.members);
        let places = places.map(|(host, member)| format!("{}{}", member.set, host.0));
        Ok::<_, String>(places.collect::<Vec<_>>().join(" "))
    };
    assert_eq!(members(&[0], &[0, 1, 3, 5]).unwrap(), "a1 a2 b3 b4 c5");
    // Host 2 manages instead of 0, and is the first of its Set then.
    assert_eq!(members(&[0], &[2, 3, 5]).unwrap(), "a2 a1 b3 b4 c5");
    // A Set without one joins the first that has one.
    assert_eq!(members(&[3], &[0, 5]).unwrap(), "a0 a1 a2 a4 c5");
    assert_eq!(members(&[0], &[3, 5]).unwrap(), "b3 b4 b1 b2 c5");
    let none = members(&[0, 3, 5], &[0, 3, 5]).unwrap_err();
    assert!(
        none.contains("none of the nodes that are left (n1, n2, n4) has the certificate"),
        "{none}"
    );
    let none_left = members(&[0, 1, 2, 3, 4, 5], &[]).unwrap_err();
    assert!(none_left.ends_with("no node is left"), "{none_left}");
}

#[test]
fn a_job_that_gets_no_further_ends_after_three_views() {
    let request = request();
    let job = JobId(std::num::NonZeroU64::MIN);
    let mut views = Views::of(job, &request);
    let whole = |superstep| {
        with(
            left(&[5], &[]),
            0,
            saved(superstep, &[(0, false), (1, false)]),
        )
    };
    for _ in 0..3 {
        views.next((&request, job), &whole(20)).unwrap();
    }
    // A newer checkpoint, and three more.
    for _ in 0..3 {
        views.next((&request, job), &whole(21)).unwrap();
    }
    let error = views
        .next((&request, job), &whole(21))
        .map_err(message)
        .unwrap_err();
    assert!(
        error.contains("n5 is lost") && error.contains("3 views in a row"),
        "{error}"
    );
}

#[test]
fn the_next_view_has_a_quorum_of_the_last_one() {
    let of_four = |count: usize, leader: Option<u32>, led_by: Option<&str>| {
        let mut request = request();
        request.members.truncate(4);
        request.view = Some(View {
            leader: leader.map(HostId),
            ..View::first(true)
        });
        let mut suspension = left(&[], &[]);
        suspension.suspended.retain(|host, _| host.index() < count);
        let job = JobId(std::num::NonZeroU64::MIN);
        let mut views = match led_by {
            None => Views::of(job, &request),
            Some(name) => Views::led_by((name.to_owned(), "laptop".to_owned()), job, &request),
        };
        views.next((&request, job), &suspension).is_ok()
    };
    // The client breaks ties while it leads, the node that leads does later, and a candidate does not.
    assert!(of_four(3, None, None) && of_four(2, None, None) && !of_four(1, None, None));
    assert!(of_four(3, None, Some("n0")) && !of_four(2, None, Some("n0")));
    assert!(of_four(2, Some(0), Some("n0")) && of_four(2, Some(1), Some("n0")));
    assert!(!of_four(2, Some(2), Some("n0")) && of_four(3, Some(3), Some("n0")));
}

/// The leader of six nodes and then of three of them loses a fourth before all three have accepted the view: the others may have gone
/// on without it.
#[test]
fn until_all_members_have_accepted_a_view_the_one_before_counts_as_well() {
    let request = request();
    let number = |number| JobId(std::num::NonZeroU64::new(number).unwrap());
    let (first, second) = (number(1), number(2));
    let mut views = Views::of(first, &request);
    let next = views.next((&request, first), &left(&[3, 4, 5], &[]));
    let next = next.unwrap().request(&request, request.setup.clone());
    let next = next.unwrap();
    let two_of_three = |is_complete| Suspension {
        suspended: left(&[2, 3, 4, 5], &[]).suspended,
        lost: [(HostId(2), lost(2))].into(),
        is_complete,
        ..left(&[], &[])
    };
    let hindered = views.clone().next((&next, second), &two_of_three(false));
    let error = message(hindered.unwrap_err());
    assert!(error.contains("2 of 6 nodes are left"), "{error}");
    let third = views.next((&next, second), &two_of_three(true)).unwrap();
    assert_eq!((third.view.number, third.members.len()), (3, 2));
}

/// One that obeys has accepted a view that the candidate does not know.
#[test]
fn a_candidate_counts_the_views_that_others_have_accepted() {
    let request = request();
    let job = JobId(std::num::NonZeroU64::MIN);
    let name = |host: usize| request.members[host].name.clone();
    let next = |members: &[usize], leader| {
        let mut suspension = left(&[4, 5], &[]);
        suspension.is_complete = false;
        let accepted = AcceptedView {
            session: 9,
            number: 7,
            members: members.iter().map(|host| name(*host)).collect(),
            leader,
        };
        let suspended = suspension.suspended.get_mut(&HostId(3)).unwrap();
        suspended.views.push(accepted);
        let next = Views::led_by((name(0), "laptop".to_owned()), job, &request)
            .next((&request, job), &suspension);
        next.map(|next| next.view.number).map_err(message)
    };
    assert_eq!(next(&[1, 2, 3, 4], None), Ok(8));
    assert_eq!(next(&[3, 4], Some(name(3))), Ok(8));
    let error = next(&[3, 4], Some(name(4))).unwrap_err();
    assert!(error.contains("1 of 2 nodes are left"), "{error}");
}

proptest! {
    /// Whatever nodes say, the next view has each process once, on a member, and its members were members before.
    #[test]
    fn a_view_is_one_that_nodes_accept(
        gone in proptest::collection::btree_set(0u32..6, 0..5),
        complaints in proptest::collection::vec((0u32..6, 0u32..6), 0..8),
        pieces in proptest::collection::vec((0u32..6, 1u64..4, 0u32..2, any::<bool>()), 0..20),
    ) {
        let gone: Vec<u32> = gone.into_iter().collect();
        let complaints: Vec<_> = complaints.into_iter().filter(|(by, of)| by != of).collect();
        let mut suspension = left(&gone, &complaints);
        for (host, superstep, rank, is_copy) in pieces {
            let Some(suspended) = suspension.suspended.get_mut(&HostId(host)) else { continue };
            let known = suspended.saved.iter_mut().find(|saved| saved.superstep == superstep);
            match known {
                Some(known) if known.pieces.iter().all(|piece| piece.rank != Rank(rank)) => {
                    known.pieces.push(piece(rank, is_copy));
                }
                Some(_) => {}
                None => suspended.saved.push(saved(superstep, &[(rank, is_copy)])),
            }
        }
        let request = request();
        let job = JobId(std::num::NonZeroU64::MIN);
        let next = match Views::of(job, &request).next((&request, job), &suspension) {
            Ok(next) => next,
            Err(hindrance) => {
                prop_assert!(matches!(hindrance, Hindrance::NoQuorum(_)));
                return Ok(());
            }
        };
        prop_assert!(3 <= next.members.len());
        prop_assert!(next.hosts.iter().all(|host| suspension.suspended.contains_key(host)));
        let there = |by: &u32| next.hosts.contains(&HostId(*by));
        prop_assert!(complaints.iter().all(|(by, of)| !there(by) || !there(of)));
        for set in next.members.chunk_by(|one, other| one.set == other.set) {
            let names = next.members.iter().filter(|member| member.set == set[0].set);
            prop_assert_eq!(names.count(), set.len(), "the members of a Set are adjacent");
        }
        if let (Some(saved), Some(resumed)) = (next.view.saved, next.resumed) {
            prop_assert_eq!(saved.holders.len(), 2);
            for (index, holder) in saved.holders.iter().enumerate() {
                let old = next.hosts[holder.index()];
                let of_holder = &suspension.suspended[&old].saved;
                let found = of_holder.iter().find(|of| of.superstep == resumed.superstep);
                let mut pieces = found.unwrap().pieces.iter();
                prop_assert!(pieces.any(|piece| piece.rank.index() == index));
            }
            prop_assert!(resumed.placement.iter().all(|host| host.index() < next.members.len()));
        }
    }
}

/// A node named `spare` in this Set, which is the first after the members.
fn spare(set: &str) -> Member {
    Member {
        name: "spare".to_owned(),
        set: set.to_owned(),
        ..request().members[0].clone()
    }
}

/// What follows a view with a pool of this node, which joins.
fn joined(member: Member, suspension: &Suspension) -> (Views, NextView) {
    let mut request = request();
    if let Some(view) = &mut request.view {
        view.pool.push(member);
    }
    let known = (request.builds.own.clone(), Role::Node);
    let mut suspension = suspension.clone();
    suspension.joining.insert(HostId(6), known.clone());
    suspension.connected.insert(HostId(6), known);
    let job = JobId(std::num::NonZeroU64::MIN);
    let mut views = Views::of(job, &request);
    let next = views.next((&request, job), &suspension);
    (views, next.map_err(message).unwrap())
}

#[test]
fn a_node_joins_after_those_of_its_set_and_gets_processes_of_the_host_that_would_end_last() {
    let suspension = with(left(&[], &[]), 0, saved(20, &[(0, false), (1, false)]));
    let (_, next) = joined(spare("b"), &suspension);
    assert_eq!(next.hosts, [0, 1, 2, 3, 4, 6, 5].map(HostId));
    assert_eq!(next.joined, ["spare"]);
    assert!(next.view.pool.is_empty() && next.lost.is_empty());
    // One of two equal processes.
    let placement = next.resumed.unwrap().placement;
    assert_eq!(
        placement.iter().filter(|host| **host == HostId(5)).count(),
        1
    );
    let saved = next.view.saved.unwrap();
    assert_eq!(
        saved.holders,
        [HostId(0); 2],
        "their pieces are where they were"
    );
}

#[test]
fn nodes_that_join_are_no_quorum() {
    let mut request = request();
    request.view.as_mut().unwrap().pool.push(spare("a"));
    let mut suspension = left(&[0, 1, 2, 3, 4, 5], &[]);
    let known = (request.builds.own.clone(), Role::SetManager);
    suspension.joining.insert(HostId(6), known);
    let job = JobId(std::num::NonZeroU64::MIN);
    let next = Views::of(job, &request).next((&request, job), &suspension);
    let error = next.map_err(message).unwrap_err();
    assert!(error.contains("0 of 6 nodes are left"), "{error}");
}

#[test]
fn a_node_that_joins_is_alone_in_a_set_only_if_it_may_manage() {
    let suspension = with(left(&[], &[]), 0, saved(20, &[(0, false), (1, false)]));
    let (_, next) = joined(spare("d"), &suspension);
    assert_eq!(next.members[3].name, "spare");
    assert_eq!(next.members[3].set, "a");
}

#[test]
fn a_lost_node_is_in_the_pool_and_left_alone_twice_as_long_each_time() {
    let request = request();
    let job = JobId(std::num::NonZeroU64::MIN);
    let mut views = Views::of(job, &request);
    for pause in [2, 4, 8] {
        let next = views
            .next((&request, job), &left(&[4], &[]))
            .map_err(message);
        let next = next.unwrap();
        assert_eq!(next.view.pool, [request.members[4].clone()]);
        assert_eq!(next.pauses, [Duration::from_secs(pause)]);
        views.repeated = 0;
    }
}

#[test]
fn of_two_nodes_that_have_lost_each_other_the_one_leaves_that_has_just_joined() {
    let suspension = with(left(&[], &[]), 0, saved(20, &[(0, false), (1, false)]));
    let (mut views, next) = joined(spare("a"), &suspension);
    let request = next.request(&request(), request().setup).unwrap();
    assert_eq!(request.members[3].name, "spare");
    // The view has not begun. Otherwise the later host would leave.
    let mut suspension = left(&[], &[(3, 5)]);
    suspension.has_begun = false;
    suspension
        .suspended
        .insert(HostId(6), suspension.suspended[&HostId(4)].clone());
    let job = JobId(std::num::NonZeroU64::MIN);
    let next = views.next((&request, job), &suspension).map_err(message);
    assert_eq!(next.unwrap().lost[0].name, "spare");
}

proptest! {
    /// No host ends later than the last one did, and processes go to hosts that have joined alone.
    #[test]
    fn nodes_that_join_make_nothing_later(
        work in prop::collection::vec((0_u64..1000, 0_usize..6), 1..40),
        capacities in prop::collection::vec(1_u32..5, 6),
        joined in prop::collection::vec(any::<bool>(), 6),
    ) {
        let capacities: Vec<f64> = capacities.into_iter().map(f64::from).collect();
        let before: Vec<Option<HostId>> = work.iter().map(|(_, host)| Some(HostId::from_index(*host))).collect();
        let works: Vec<Option<Instructions>> = work.iter().map(|(work, _)| Some(Instructions(*work))).collect();
        let mut after = before.clone();
        relieve(&works, &mut after, (&capacities, &joined));
        let last = |stays: &[Option<HostId>]| {
            let mut loads = [0.0; 6];
            for ((work, _), host) in work.iter().zip(stays) {
                loads[host.unwrap().index()] += (*work).max(1) as f64;
            }
            let times = loads.iter().zip(&capacities).map(|(load, capacity)| load / capacity);
            times.fold(0.0, f64::max)
        };
        prop_assert!(last(&after) <= last(&before) * (1.0 + 1e-12));
        for (before, after) in before.iter().zip(&after) {
            prop_assert!(before == after || joined[after.unwrap().index()]);
        }
    }
}

#[test]
fn a_node_and_its_buddy_do_not_leave_together_unless_all_do() {
    let request = request();
    let job = JobId(std::num::NonZeroU64::MIN);
    // p1 is on host 0, p2 on host 3, and each has the copy of the other.
    let suspension = with(left(&[1], &[]), 0, saved(20, &[(0, false), (1, true)]));
    let mut suspension = with(suspension, 3, saved(20, &[(0, true), (1, false)]));
    let mut leave = |hosts: &[u32]| {
        let told = |host: &u32| (HostId(*host), format!("n{host} has been told to leave"));
        suspension.leaving = hosts.iter().map(told).collect();
        Views::of(job, &request).next((&request, job), &suspension)
    };
    let lost =
        |next: NextView| -> Vec<String> { next.lost.into_iter().map(|lost| lost.name).collect() };
    let both = leave(&[0, 3]).map_err(message).unwrap();
    assert_eq!(both.resumed.as_ref().unwrap().superstep, 20);
    let one: Vec<String> = lost(both)
        .into_iter()
        .filter(|name| ["n0", "n3"].contains(&&name[..]))
        .collect();
    assert_eq!(one, ["n0"]);
    let error = leave(&[0, 2, 3, 4, 5]).map_err(message).unwrap_err();
    assert!(
        error.contains("0 of 6 nodes are left") || error.contains("no node is left"),
        "{error}"
    );
}

#[test]
fn a_process_on_standby_moves_home_with_the_host_for_which_it_waits_and_no_other_does() {
    let mut request = request();
    let view = request.view.as_mut().unwrap();
    view.pool.push(spare("b"));
    view.awaited = Some(Awaited {
        homes: vec![protocol::Home {
            host: "spare".to_owned(),
            processes: vec![Rank(1)],
        }],
        ..Awaited::default()
    });
    let known = (request.builds.own.clone(), Role::Node);
    let mut suspension = with(left(&[], &[]), 0, saved(20, &[(0, false), (1, false)]));
    suspension.joining.insert(HostId(6), known.clone());
    suspension.connected.insert(HostId(6), known);
    suspension.decided = Some([("spare".to_owned(), Default::default())].into());
    suspension.lasted = Duration::from_secs(3);
    let job = JobId(std::num::NonZeroU64::MIN);
    let next = Views::of(job, &request).next((&request, job), &suspension);
    let next = next.map_err(message).unwrap();
    let placement = next.resumed.unwrap().placement;
    assert_eq!(placement, [HostId(0), HostId(5)]);
    let awaited = next.view.awaited.unwrap();
    assert!(awaited.standby(&next.members).is_empty());
    assert_eq!(awaited.standby(&request.members)[&Rank(1)], "spare");
    assert_eq!(awaited.asked, Some(vec!["spare".to_owned()]));
    assert_eq!(awaited.passed, seconds(suspension.lasted));
}
