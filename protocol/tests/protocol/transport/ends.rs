use std::time::{Duration, Instant};

use protocol::identity::Role;
use protocol::transport::{
    BindError, Bounds, CloseCode, ConnectError, Endpoint, PeerError, PeerPolicy, Received,
};

use crate::transport::{
    any_role, build, connected, endpoint, frame, identity, job, loopback, name, pair, receive,
    start_call,
};

#[tokio::test]
async fn closing_flushes_all_frames_sent_before() {
    let mut pair = pair(Bounds::default()).await;
    for superstep in 0..500 {
        pair.a
            .sender
            .send(frame(&start_call(superstep)))
            .await
            .unwrap();
    }
    pair.a.sender.close("the run is over").await.unwrap();
    for superstep in 0..500 {
        assert_eq!(receive(&mut pair.b).await, start_call(superstep));
    }
    let reason = "the run is over".to_owned();
    let expect = Received::Closed {
        reason: reason.clone(),
    };
    assert_eq!(pair.b.messages.receive().await, Ok(expect));
    let peer = pair.b.info.clone();
    let expect = PeerError::Closed { peer, reason };
    let late = pair.b.sender.send(frame(&start_call(1))).await;
    assert_eq!(late, Err(expect.clone()));
    assert_eq!(pair.b.states.receive().await, Err(expect));
    let own = pair.a.messages.receive().await.unwrap_err();
    assert!(matches!(own, PeerError::Local { .. }), "{own}");
}

#[tokio::test]
async fn dropping_a_peer_is_a_failure_at_the_other_end() {
    let mut pair = pair(Bounds::default()).await;
    drop(pair.a);
    let error = pair.b.messages.receive().await.unwrap_err();
    let expect = PeerError::Aborted {
        peer: pair.b.info,
        code: CloseCode::Dropped,
        reason: String::new(),
    };
    assert_eq!(error, expect);
}

#[tokio::test]
async fn closing_an_endpoint_notifies_its_peers() {
    let mut pair = pair(Bounds::default()).await;
    pair.ends.0.close().await;
    let error = pair.b.messages.receive().await.unwrap_err();
    assert!(error.to_string().contains("it gave no reason"), "{error}");
}

#[tokio::test]
async fn closing_times_out_if_the_peer_does_not_read() {
    let bounds = Bounds {
        stream_window: 16 << 10,
        answer: Duration::from_millis(300),
        handshake: Duration::from_millis(300),
        ..Bounds::default()
    };
    let pair = pair(bounds).await;
    for superstep in 0..2000 {
        pair.a
            .sender
            .send(frame(&start_call(superstep)))
            .await
            .unwrap();
    }
    let error = pair.a.sender.close("done").await.unwrap_err();
    assert!(matches!(error, PeerError::Stalled { .. }), "{error}");
}

#[tokio::test]
async fn sending_to_a_peer_that_stopped_reading_fails() {
    let mut pair = pair(Bounds::default()).await;
    drop(pair.b.messages);
    let error = loop {
        if let Err(error) = pair.a.sender.send(frame(&start_call(1))).await {
            break error;
        }
    };
    assert!(matches!(error, PeerError::Stalled { .. }), "{error}");
    assert_eq!(pair.a.messages.receive().await, Err(error));
}

#[tokio::test]
async fn silent_peers_are_lost() {
    let bounds = Bounds {
        silence: Duration::from_millis(500),
        ..Bounds::default()
    };
    let here = endpoint(Role::Node, "n1", PeerPolicy::RefuseAll, bounds);
    // The other end runs on a separate runtime, which stops without closing its connections.
    let (tell, reported) = std::sync::mpsc::channel();
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let elsewhere = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let peer = runtime.block_on(async {
            let there = endpoint(Role::Node, "n2", any_role(), bounds);
            tell.send(there.address().unwrap()).unwrap();
            (there.accept().await.unwrap(), there)
        });
        stopped.recv().unwrap();
        drop((peer, runtime));
    });
    let address = reported.recv().unwrap();
    let peer = here.connect(address, Role::Node, &name("n2")).await;
    let error = peer.unwrap().messages.receive().await.unwrap_err();
    assert!(matches!(error, PeerError::Silent { .. }), "{error}");
    let expect =
        "is lost: nothing was received for 0.5 s: check whether it runs and can be reached";
    assert!(error.to_string().ends_with(expect), "{error}");
    stop.send(()).unwrap();
    elsewhere.join().unwrap();
}

#[tokio::test]
async fn time_in_which_this_end_is_stopped_is_no_silence_of_its_peers() {
    let patient = Bounds {
        silence: Duration::from_secs(60),
        ..Bounds::default()
    };
    let (tell, reported) = std::sync::mpsc::channel();
    let elsewhere = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let there = endpoint(Role::SetManager, "n2", any_role(), patient);
            tell.send(there.address().unwrap()).unwrap();
            let mut peer = there.accept().await.unwrap();
            let message = receive(&mut peer).await;
            peer.sender.send(frame(&message)).await.unwrap();
            peer.messages.receive().await
        })
    });
    let bounds = Bounds {
        silence: Duration::from_millis(400),
        ..Bounds::default()
    };
    let here = endpoint(Role::SetManager, "n1", PeerPolicy::RefuseAll, bounds);
    let address = reported.recv().unwrap();
    let mut peer = here
        .connect(address, Role::SetManager, &name("n2"))
        .await
        .unwrap();
    std::thread::sleep(Duration::from_secs(2));
    tokio::time::sleep(Duration::from_millis(100)).await;
    peer.sender.send(frame(&start_call(1))).await.unwrap();
    assert_eq!(receive(&mut peer).await, start_call(1));
    peer.sender.close("done").await.unwrap();
    here.close().await;
    let ended = elsewhere.join().unwrap();
    assert!(matches!(ended, Ok(Received::Closed { .. })), "{ended:?}");
}

#[tokio::test]
async fn connecting_times_out_without_an_answer() {
    let bounds = Bounds {
        answer: Duration::from_millis(300),
        handshake: Duration::from_millis(300),
        ..Bounds::default()
    };
    let here = endpoint(Role::Node, "n1", PeerPolicy::RefuseAll, bounds);
    let silent = std::net::UdpSocket::bind(loopback()).unwrap();
    let address = silent.local_addr().unwrap();
    let begin = Instant::now();
    let error = here.connect(address, Role::Node, &name("n2")).await;
    let error = error.unwrap_err();
    assert!(matches!(error, ConnectError::TimedOut { .. }), "{error}");
    assert!(begin.elapsed() < Duration::from_secs(3));
    let expect = format!(
        "connecting to node n2 at {address}: no answer in 0.3 s: check whether it runs and its port is open, for UDP \
         and datagrams of 1200 bytes"
    );
    assert_eq!(error.to_string(), expect);
    // The system reports what does not listen.
    drop(silent);
    let error = here.connect(address, Role::Node, &name("n2")).await;
    let expect = format!(
        "connecting to node n2 at {address}: its host says that nothing has this port: check whether it runs, and with \
         this port"
    );
    assert_eq!(error.unwrap_err().to_string(), expect);
}

#[tokio::test]
async fn a_closed_port_is_not_waited_for() {
    let here = endpoint(Role::Node, "n1", PeerPolicy::RefuseAll, Bounds::default());
    let closed = std::net::UdpSocket::bind(loopback()).unwrap();
    let address = closed.local_addr().unwrap();
    drop(closed);
    let begin = Instant::now();
    let error = here.connect(address, Role::Node, &name("n2")).await;
    let error = error.unwrap_err();
    assert!(matches!(error, ConnectError::Unreachable { .. }), "{error}");
    assert!(begin.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn the_first_address_that_answers_is_taken() {
    let here = endpoint(Role::Node, "n1", PeerPolicy::RefuseAll, Bounds::default());
    let there = endpoint(Role::Node, "n2", any_role(), Bounds::default());
    let other = endpoint(Role::Node, "n3", any_role(), Bounds::default());
    let silent = std::net::UdpSocket::bind(loopback()).unwrap();
    let closed = std::net::UdpSocket::bind(loopback()).unwrap();
    let [silent, gone, there_too, other_too] = [
        silent.local_addr().unwrap(),
        closed.local_addr().unwrap(),
        there.address().unwrap(),
        other.address().unwrap(),
    ];
    drop(closed);
    let begin = Instant::now();
    for addresses in [
        &[silent, there_too][..],
        &[gone, there_too],
        &[there_too, silent],
        &[other_too, gone, silent, there_too],
    ] {
        let calling = async { here.connect_any(addresses, Role::Node, &name("n2")).await };
        let (called, accepted) = tokio::join!(calling, there.accept());
        assert_eq!(called.unwrap().info.address, there_too);
        drop(accepted);
    }
    assert!(begin.elapsed() < Duration::from_secs(3));
    // Of several errors, the one says most that comes from a host.
    let addresses = [gone, silent, other_too];
    let failed = here.connect_any(&addresses, Role::Node, &name("n2")).await;
    let error = failed.unwrap_err().to_string();
    assert!(
        error.contains("the certificate is that of node n3"),
        "{error}"
    );
    let none = here.connect_any(&[], Role::Node, &name("n2")).await;
    assert!(none.unwrap_err().to_string().contains("it has no address"));
}

#[tokio::test]
async fn a_peer_that_starts_three_seconds_later_is_found() {
    let here = endpoint(Role::Node, "n1", PeerPolicy::RefuseAll, Bounds::default());
    // Without it, the system would say that nothing has the port.
    let silent = std::net::UdpSocket::bind(loopback()).unwrap();
    let address = silent.local_addr().unwrap();
    let later = async {
        tokio::time::sleep(Duration::from_secs(3)).await;
        drop(silent);
        let identity = identity(Role::Node, "n2");
        let there = Endpoint::bind(identity, address, any_role(), Bounds::default(), build());
        let there = there.unwrap();
        there.begin(job(7), crate::transport::EPOCH);
        (there.accept().await, there)
    };
    let name = name("n2");
    let (called, _later) = tokio::join!(here.connect(address, Role::Node, &name), later);
    called.unwrap();
}

#[tokio::test]
async fn a_socket_for_all_addresses_has_those_of_both_families() {
    let identity = identity(Role::Node, "n2");
    let any = (std::net::Ipv6Addr::UNSPECIFIED, 0).into();
    let there = Endpoint::bind(identity, any, any_role(), Bounds::default(), build());
    let Ok(there) = there else {
        eprintln!("SKIPPED: no IPv6 here");
        return;
    };
    there.begin(job(7), crate::transport::EPOCH);
    let port = there.address().unwrap().port();
    let here = endpoint(Role::Node, "n1", PeerPolicy::RefuseAll, Bounds::default());
    let address = (std::net::Ipv4Addr::LOCALHOST, port).into();
    let name = name("n2");
    let calling = async { here.connect(address, Role::Node, &name).await };
    let (called, accepted) = tokio::join!(calling, there.accept());
    called.unwrap();
    assert_eq!(accepted.unwrap().info.address, here.address().unwrap());
}

#[tokio::test]
async fn endpoints_that_refuse_all_peers_do_not_answer() {
    let bounds = Bounds {
        answer: Duration::from_millis(300),
        handshake: Duration::from_millis(300),
        ..Bounds::default()
    };
    let one = endpoint(Role::Node, "n1", PeerPolicy::RefuseAll, bounds);
    let other = endpoint(Role::Node, "n2", PeerPolicy::RefuseAll, bounds);
    let address = other.address().unwrap();
    let error = one.connect(address, Role::Node, &name("n2")).await;
    assert!(error.is_err());
}

#[tokio::test]
async fn binding_an_address_in_use_names_the_address() {
    let one = endpoint(Role::Node, "n1", PeerPolicy::RefuseAll, Bounds::default());
    let address = one.address().unwrap();
    let identity = identity(Role::Node, "n2");
    let error = Endpoint::bind(
        identity,
        address,
        PeerPolicy::RefuseAll,
        Bounds::default(),
        build(),
    );
    let error = error.unwrap_err();
    assert!(matches!(error, BindError::Socket { .. }), "{error}");
    assert!(error.to_string().contains(&address.to_string()), "{error}");
}

#[test]
fn an_endpoint_needs_a_runtime() {
    let identity = identity(Role::Node, "n1");
    let error = Endpoint::bind(
        identity,
        loopback(),
        PeerPolicy::RefuseAll,
        Bounds::default(),
        build(),
    );
    assert!(matches!(error.unwrap_err(), BindError::Runtime));
}

#[tokio::test]
async fn connections_outlive_epochs_and_end_with_the_job() {
    let mut pair = pair(Bounds::default()).await;
    pair.ends.0.advance(5);
    pair.a.sender.send(frame(&start_call(1))).await.unwrap();
    assert_eq!(receive(&mut pair.b).await, start_call(1));
    // A host without processes may learn much later of an epoch.
    pair.ends.1.advance(9);
    pair.a.sender.send(frame(&start_call(2))).await.unwrap();
    assert_eq!(receive(&mut pair.b).await, start_call(2));
    pair.ends.1.end();
    pair.a.sender.send(frame(&start_call(3))).await.unwrap();
    let error = pair.b.messages.receive().await.unwrap_err().to_string();
    let expect = "it belongs to job 0000000000000007, which is over";
    assert!(error.ends_with(expect), "{error}");
    assert_eq!(pair.ends.1.counters().foreign, 1);
    // The peer is not lost: it has left the job.
    let Ok(Received::Closed { reason }) = pair.a.messages.receive().await else {
        panic!("it is closed in order");
    };
    assert_eq!(reason, expect);
}

#[tokio::test]
async fn peers_of_different_jobs_are_refused() {
    let one = endpoint(Role::Node, "n1", PeerPolicy::RefuseAll, Bounds::default());
    let other = endpoint(Role::Node, "n2", any_role(), Bounds::default());
    other.begin(job(8), 0);
    let address = other.address().unwrap();
    let error = one.connect(address, Role::Node, &name("n2")).await;
    let error = error.unwrap_err().to_string();
    let expect = "it belongs to job 0000000000000007, this end does not";
    assert!(error.ends_with(expect), "{error}");
    // A peer without a job may connect, but not send messages of agents.
    one.end();
    let (a, mut b) = connected(&one, &other).await;
    assert_eq!((a.job, b.job), (None, None));
    a.sender.send(frame(&start_call(1))).await.unwrap();
    let error = b.messages.receive().await.unwrap_err().to_string();
    let expect = "StartCall may not be sent on a connection without a job";
    assert!(error.ends_with(expect), "{error}");
}
