use std::time::Duration;

use bytes::Bytes;
use protocol::identity::Role;
use protocol::transport::{Bounds, Endpoint, PeerPolicy, TrySendError};
use protocol::{AgentMessage, Build, EncodedState, Frame, Message};

use crate::transport::{
    EPOCH, NODE, any_role, connected, endpoint, every_message, frame, identity, job, loopback,
    pair, receive, start_call,
};

#[tokio::test]
async fn every_message_arrives_in_order_in_both_directions() {
    let mut pair = pair(Bounds::default()).await;
    let messages = every_message();
    for message in &messages {
        pair.a.sender.send(frame(message)).await.unwrap();
        pair.b.sender.send(frame(message)).await.unwrap();
    }
    for message in &messages {
        assert_eq!(&receive(&mut pair.b).await, message);
        assert_eq!(&receive(&mut pair.a).await, message);
    }
}

#[tokio::test]
async fn peers_are_identified_by_their_certificates() {
    let node = endpoint(Role::Node, "n7", PeerPolicy::RefuseAll, Bounds::default());
    let manager = endpoint(Role::SetManager, "n8", any_role(), Bounds::default());
    let (a, b) = connected(&node, &manager).await;
    assert_eq!(&a.info.subject, manager.subject());
    assert_eq!(&b.info.subject, node.subject());
    let port = node.address().unwrap();
    assert_eq!(b.info.to_string(), format!("node n7 at {port}"));
    assert_eq!((a.job, b.job), (Some(job(7)), a.job));
}

#[tokio::test]
async fn frames_of_all_sizes_arrive_in_the_order_sent() {
    let mut pair = pair(Bounds::default()).await;
    let payloads = [0, 1, 4095, 4096, 4097, 100_000, 3 << 20, 17];
    let message = |length: usize| {
        let state = EncodedState {
            rank: bsp::Rank(1),
            epoch: 4,
            agent: 0,
            declared: None,
            payload: (0..length).map(|at| at.to_le_bytes()[0]).collect(),
        };
        (
            NODE,
            NODE,
            Message::Agent(AgentMessage::State(Box::new(state))),
        )
    };
    let sender = pair.a.sender.clone();
    let sending = tokio::spawn(async move {
        for superstep in 0..2000 {
            sender.send(frame(&start_call(superstep))).await.unwrap();
        }
        for length in payloads {
            sender.send(frame(&message(length))).await.unwrap();
        }
    });
    for superstep in 0..2000 {
        assert_eq!(receive(&mut pair.b).await, start_call(superstep));
    }
    for length in payloads {
        assert_eq!(receive(&mut pair.b).await, message(length));
    }
    sending.await.unwrap();
}

#[tokio::test]
async fn slow_receivers_block_the_sender_in_bounded_memory() {
    let bounds = Bounds {
        stream_window: 64 << 10,
        queue: 64 << 10,
        ..Bounds::default()
    };
    let mut pair = pair(bounds).await;
    let sent = pair.a.sender.clone();
    let fill = async {
        let mut taken = 0;
        loop {
            match sent.try_send(frame(&start_call(taken))) {
                Ok(()) => taken += 1,
                Err(TrySendError::Full { frame: back }) => {
                    assert_eq!(back, frame(&start_call(taken)));
                    let room = sent.send(back);
                    let waited = tokio::time::timeout(Duration::from_millis(200), room).await;
                    match waited {
                        Ok(done) => done.unwrap(),
                        Err(_) => return taken,
                    }
                    taken += 1;
                }
                Err(TrySendError::Peer(error)) => panic!("{error}"),
            }
        }
    };
    let taken = fill.await;
    let Frame { head, .. } = frame(&start_call(0));
    // The queue, the window of the receiver, and the batch of the writer.
    let limit = u64::try_from(3 * (64 << 10) / head.len()).unwrap();
    assert!((1000..limit).contains(&taken), "{taken} of {limit}");
    for superstep in 0..taken {
        assert_eq!(receive(&mut pair.b).await, start_call(superstep));
    }
    pair.a.sender.send(frame(&start_call(taken))).await.unwrap();
    assert_eq!(receive(&mut pair.b).await, start_call(taken));
}

#[tokio::test]
async fn cancelled_receives_lose_no_frames() {
    let mut pair = pair(Bounds::default()).await;
    let sender = pair.a.sender.clone();
    let sending = tokio::spawn(async move {
        let payload = Bytes::from(vec![7; 300_000]);
        for superstep in 0..200 {
            let state = EncodedState {
                rank: bsp::Rank(1),
                epoch: superstep,
                agent: 0,
                declared: None,
                payload: payload.clone(),
            };
            let message = (
                NODE,
                NODE,
                Message::Agent(AgentMessage::State(Box::new(state))),
            );
            sender.send(frame(&message)).await.unwrap();
        }
    });
    let mut next = 0;
    while next < 200 {
        let impatient = Duration::from_micros(50);
        if let Ok(received) = tokio::time::timeout(impatient, receive(&mut pair.b)).await {
            let (_, _, Message::Agent(AgentMessage::State(state))) = received else {
                panic!("{received:?}");
            };
            assert_eq!((state.epoch, state.payload.len()), (next, 300_000));
            next += 1;
        }
    }
    sending.await.unwrap();
}

#[tokio::test]
async fn addresses_are_proved_under_load() {
    let bounds = Bounds {
        retry_from: 0,
        ..Bounds::default()
    };
    let mut pair = pair(bounds).await;
    assert_eq!(pair.ends.1.counters().retries, 1);
    pair.a.sender.send(frame(&start_call(1))).await.unwrap();
    assert_eq!(receive(&mut pair.b).await, start_call(1));
}

#[tokio::test]
async fn handshakes_above_the_limit_are_refused() {
    let bounds = Bounds {
        handshakes: 0,
        ..Bounds::default()
    };
    let one = endpoint(Role::Node, "n1", PeerPolicy::RefuseAll, bounds);
    let other = endpoint(Role::Node, "n2", any_role(), bounds);
    let name = &other.subject().name;
    let refused = one
        .connect(other.address().unwrap(), Role::Node, name)
        .await;
    let error = refused.unwrap_err().to_string();
    assert!(error.contains("the peer refused the connection"), "{error}");
    assert_eq!(other.counters().handshakes_refused, 1);
}

#[tokio::test]
async fn each_end_learns_the_build_of_the_other() {
    let longest = "x".repeat(Build::TEXT_MAX);
    let other = Build::new(&longest, &longest, [7; Build::DIGEST_LEN]).unwrap();
    let here = endpoint(Role::Client, "n1", PeerPolicy::RefuseAll, Bounds::default());
    let identity = identity(Role::Node, "n2");
    let bounds = Bounds::default();
    let there = Endpoint::bind(identity, loopback(), any_role(), bounds, other.clone()).unwrap();
    there.begin(job(7), EPOCH);
    let (a, b) = connected(&here, &there).await;
    assert_eq!((a.build, &b.build), (other, here.build()));
}
