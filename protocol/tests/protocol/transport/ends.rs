use std::time::{Duration, Instant};

use protocol::identity::Role;
use protocol::transport::{
    BindError, Bounds, CloseCode, ConnectError, Endpoint, Guests, PeerError, Received,
};

use crate::transport::{
    anybody, confer, connected, endpoint, frame, identity, job, loopback, name, pair, receive,
};

#[tokio::test]
async fn an_orderly_end_comes_behind_everything_sent() {
    let mut pair = pair(Bounds::default()).await;
    for superstep in 0..500 {
        pair.a.sender.send(frame(&confer(superstep))).await.unwrap();
    }
    pair.a.sender.close("the run is over").await.unwrap();
    for superstep in 0..500 {
        assert_eq!(receive(&mut pair.b).await, confer(superstep));
    }
    let reason = "the run is over".to_owned();
    let expect = Received::Closed {
        reason: reason.clone(),
    };
    assert_eq!(pair.b.messages.receive().await, Ok(expect));
    let peer = pair.b.party.clone();
    let expect = PeerError::Closed { peer, reason };
    let late = pair.b.sender.send(frame(&confer(1))).await;
    assert_eq!(late, Err(expect.clone()));
    assert_eq!(pair.b.states.receive().await, Err(expect));
    let own = pair.a.messages.receive().await.unwrap_err();
    assert!(matches!(own, PeerError::Local { .. }), "{own}");
}

#[tokio::test]
async fn letting_go_without_a_word_is_a_failure() {
    let mut pair = pair(Bounds::default()).await;
    drop(pair.a);
    let error = pair.b.messages.receive().await.unwrap_err();
    let expect = PeerError::Broken {
        peer: pair.b.party,
        code: CloseCode::Dropped,
        reason: String::new(),
    };
    assert_eq!(error, expect);
}

#[tokio::test]
async fn an_endpoint_that_closes_tells_its_peers() {
    let mut pair = pair(Bounds::default()).await;
    pair.ends.0.close().await;
    let error = pair.b.messages.receive().await.unwrap_err();
    assert!(error.to_string().contains("let go of it"), "{error}");
}

#[tokio::test]
async fn a_peer_that_never_reads_cannot_hold_up_closing() {
    let bounds = Bounds {
        stream_window: 16 << 10,
        handshake: Duration::from_millis(300),
        ..Bounds::default()
    };
    let pair = pair(bounds).await;
    for superstep in 0..2000 {
        pair.a.sender.send(frame(&confer(superstep))).await.unwrap();
    }
    let error = pair.a.sender.close("done").await.unwrap_err();
    assert!(matches!(error, PeerError::Unread { .. }), "{error}");
}

#[tokio::test]
async fn a_peer_that_reads_no_more_is_an_error_at_the_sender() {
    let mut pair = pair(Bounds::default()).await;
    drop(pair.b.messages);
    let error = loop {
        if let Err(error) = pair.a.sender.send(frame(&confer(1))).await {
            break error;
        }
    };
    assert!(matches!(error, PeerError::Unread { .. }), "{error}");
    assert_eq!(pair.a.messages.receive().await, Err(error));
}

#[tokio::test]
async fn a_peer_that_falls_silent_is_lost() {
    let bounds = Bounds {
        keep_alive: Duration::from_millis(100),
        idle: Duration::from_millis(500),
        ..Bounds::default()
    };
    let here = endpoint(Role::Node, "n1", Guests::Nobody, bounds);
    // The other end runs on a runtime of its own, which stops without a word.
    let (tell, told) = std::sync::mpsc::channel();
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let elsewhere = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let peer = runtime.block_on(async {
            let there = endpoint(Role::Node, "n2", anybody(), bounds);
            tell.send(there.address().unwrap()).unwrap();
            (there.accept().await.unwrap(), there)
        });
        stopped.recv().unwrap();
        drop((peer, runtime));
    });
    let address = told.recv().unwrap();
    let peer = here.connect(address, Role::Node, &name("n2")).await;
    let error = peer.unwrap().messages.receive().await.unwrap_err();
    assert!(matches!(error, PeerError::Lost { .. }), "{error}");
    stop.send(()).unwrap();
    elsewhere.join().unwrap();
}

#[tokio::test]
async fn connecting_to_nobody_says_so_in_time() {
    let bounds = Bounds {
        handshake: Duration::from_millis(300),
        ..Bounds::default()
    };
    let here = endpoint(Role::Node, "n1", Guests::Nobody, bounds);
    let nobody = std::net::UdpSocket::bind(loopback()).unwrap();
    let address = nobody.local_addr().unwrap();
    let begin = Instant::now();
    let error = here.connect(address, Role::Node, &name("n2")).await;
    let error = error.unwrap_err();
    assert!(matches!(error, ConnectError::Silent { .. }), "{error}");
    assert!(begin.elapsed() < Duration::from_secs(3));
    let expect = format!(
        "connecting to node n2 at {address}: no answer in 0.3 s: see whether it runs and its port is open"
    );
    assert_eq!(error.to_string(), expect);
}

#[tokio::test]
async fn an_endpoint_that_takes_nobody_does_not_answer() {
    let bounds = Bounds {
        handshake: Duration::from_millis(300),
        ..Bounds::default()
    };
    let one = endpoint(Role::Node, "n1", Guests::Nobody, bounds);
    let other = endpoint(Role::Node, "n2", Guests::Nobody, bounds);
    let address = other.address().unwrap();
    let error = one.connect(address, Role::Node, &name("n2")).await;
    assert!(error.is_err());
}

#[tokio::test]
async fn an_address_in_use_is_refused_by_name() {
    let one = endpoint(Role::Node, "n1", Guests::Nobody, Bounds::default());
    let address = one.address().unwrap();
    let identity = identity(Role::Node, "n2");
    let error = Endpoint::bind(identity, address, Guests::Nobody, Bounds::default());
    let error = error.unwrap_err();
    assert!(matches!(error, BindError::Socket { .. }), "{error}");
    assert!(error.to_string().contains(&address.to_string()), "{error}");
}

#[test]
fn an_endpoint_needs_a_runtime() {
    let identity = identity(Role::Node, "n1");
    let error = Endpoint::bind(identity, loopback(), Guests::Nobody, Bounds::default());
    assert!(matches!(error.unwrap_err(), BindError::Runtime));
}

#[tokio::test]
async fn a_connection_goes_on_into_later_epochs_and_ends_with_the_job() {
    let mut pair = pair(Bounds::default()).await;
    pair.ends.0.advance(5);
    pair.a.sender.send(frame(&confer(1))).await.unwrap();
    assert_eq!(receive(&mut pair.b).await, confer(1));
    pair.ends.1.advance(5);
    pair.ends.1.retire(5);
    pair.a.sender.send(frame(&confer(2))).await.unwrap();
    assert_eq!(receive(&mut pair.b).await, confer(2));
    pair.ends.1.end();
    pair.a.sender.send(frame(&confer(3))).await.unwrap();
    let error = pair.b.messages.receive().await.unwrap_err().to_string();
    let expect = "it belongs to job 0000000000000007, and no job runs between the two";
    assert!(error.ends_with(expect), "{error}");
    assert_eq!(pair.ends.1.counters().foreign, 1);
    let told = pair.a.messages.receive().await.unwrap_err().to_string();
    assert!(told.ends_with(expect), "{told}");
}

#[tokio::test]
async fn peers_of_different_jobs_do_not_meet() {
    let one = endpoint(Role::Node, "n1", Guests::Nobody, Bounds::default());
    let other = endpoint(Role::Node, "n2", anybody(), Bounds::default());
    other.begin(job(8), 0);
    let address = other.address().unwrap();
    let error = one.connect(address, Role::Node, &name("n2")).await;
    let error = error.unwrap_err().to_string();
    let expect = "at job 0000000000000007, expected job 0000000000000008";
    assert!(error.ends_with(expect), "{error}");
    // Without a job one may come, but not as an agent.
    one.end();
    let (a, mut b) = connected(&one, &other).await;
    assert_eq!((a.job, b.job), (None, None));
    a.sender.send(frame(&confer(1))).await.unwrap();
    let error = b.messages.receive().await.unwrap_err().to_string();
    let expect = "Confer has no place on a connection without a job";
    assert!(error.ends_with(expect), "{error}");
}
