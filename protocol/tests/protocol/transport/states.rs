use bytes::{Bytes, BytesMut};
use protocol::EncodedState;
use protocol::transport::{Bounds, CHUNK_LEN, StreamContent};
use tokio::sync::mpsc;

use crate::transport::{NODE, frame, pair, receive, start_call};

fn state(rank: u32, length: usize) -> EncodedState {
    let mut payload = BytesMut::with_capacity(length);
    let mut word = 0x9E37_79B9_u32;
    while payload.len() + 4 <= length {
        word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        payload.extend_from_slice(&word.to_le_bytes());
    }
    payload.resize(length, 0xA5);
    EncodedState {
        rank: bsp::Rank(rank),
        epoch: 4,
        agent: 0,
        declared: None,
        payload: payload.freeze(),
    }
}

#[tokio::test]
async fn states_of_all_sizes_arrive_intact() {
    let mut pair = pair(Bounds::default()).await;
    for length in [0, 1, CHUNK_LEN, CHUNK_LEN + 1, 20_000_000] {
        let sent = state(1, length);
        let sending = pair.a.sender.send_state(NODE, NODE, sent.clone());
        let (done, received) = tokio::join!(sending, pair.b.states.receive());
        done.unwrap();
        let received = received.unwrap();
        assert_eq!((received.from, received.to), (NODE, NODE));
        assert_eq!(received.state, sent, "{length} bytes");
    }
}

#[tokio::test]
async fn states_do_not_delay_messages() {
    let mut pair = pair(Bounds::default()).await;
    // More than the limit of states in transfer.
    let senders = (0..9).map(|rank| {
        let sender = pair.a.sender.clone();
        tokio::spawn(async move { sender.send_state(NODE, NODE, state(rank, 2_000_000)).await })
    });
    let senders: Vec<_> = senders.collect();
    // No state is read yet: the windows of the state streams are full, that of the control stream is not.
    for superstep in 0..1000 {
        pair.a
            .sender
            .send(frame(&start_call(superstep)))
            .await
            .unwrap();
        assert_eq!(receive(&mut pair.b).await, start_call(superstep));
    }
    let mut ranks = Vec::new();
    for _ in 0..9 {
        let received = pair.b.states.receive().await.unwrap().state;
        assert_eq!(received, state(received.rank.0, 2_000_000));
        ranks.push(received.rank.0);
    }
    ranks.sort_unstable();
    assert_eq!(ranks, Vec::from_iter(0..9));
    for sender in senders {
        sender.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn states_are_read_into_one_piece_of_memory() {
    let mut pair = pair(Bounds::default()).await;
    let sending = pair.a.sender.send_state(NODE, NODE, state(1, 5_000_000));
    let (done, received) = tokio::join!(sending, pair.b.states.receive());
    done.unwrap();
    // There is one reference to the memory, and its length is that of the payload.
    let payload = received.unwrap().state.payload;
    let begin = payload.as_ptr();
    let owned: BytesMut = payload.try_into_mut().unwrap();
    assert_eq!((owned.as_ptr(), owned.len()), (begin, 5_000_000));
    drop(Bytes::from(owned));
}

#[tokio::test]
async fn states_are_sent_and_read_in_chunks() {
    let mut pair = pair(Bounds::default()).await;
    for length in [0, 1, CHUNK_LEN, 3 * CHUNK_LEN, 3 * CHUNK_LEN + 1] {
        let whole = state(1, length);
        let without = EncodedState {
            payload: Bytes::new(),
            ..whole.clone()
        };
        let (made, chunks) = mpsc::channel(1);
        let (taken, mut coming) = mpsc::channel(1);
        let sending = pair.a.sender.send_state_chunks(
            NODE,
            NODE,
            StreamContent::State(without.clone()),
            chunks,
        );
        let making = async {
            let mut rest = whole.payload.clone();
            while CHUNK_LEN <= rest.len() {
                made.send(rest.split_to(CHUNK_LEN)).await.unwrap();
            }
            made.send(rest).await.unwrap();
        };
        let reading = async {
            let opened = pair.b.states.accept().await.unwrap();
            assert_eq!(
                (opened.from, opened.to, &opened.content),
                (NODE, NODE, &StreamContent::State(without.clone()))
            );
            opened.payload.read(taken).await.unwrap();
        };
        let joining = async {
            let mut joined = BytesMut::new();
            while let Some(chunk) = coming.recv().await {
                joined.extend_from_slice(&chunk);
            }
            joined
        };
        let (sent, (), (), joined) = tokio::join!(sending, making, reading, joining);
        assert_eq!(sent, Ok(u64::try_from(length).unwrap()));
        assert!(joined == whole.payload, "{length} bytes");
    }
}

#[tokio::test]
async fn incomplete_states_are_failures_at_the_other_end() {
    let mut pair = pair(Bounds::default()).await;
    let (made, chunks) = mpsc::channel(1);
    let without = state(1, 0);
    let content = StreamContent::State(without);
    let sending = pair.a.sender.send_state_chunks(NODE, NODE, content, chunks);
    // Without a shorter chunk, it is not the end.
    made.send(vec![0; CHUNK_LEN].into()).await.unwrap();
    drop(made);
    let (taken, mut coming) = mpsc::channel(1);
    let reading = async {
        let opened = pair.b.states.accept().await;
        match opened {
            Ok(opened) => opened.payload.read(taken).await,
            Err(error) => Err(error),
        }
    };
    let (sent, read) = tokio::join!(sending, reading);
    assert!(sent.is_err() && read.is_err());
    assert!(
        coming
            .recv()
            .await
            .is_none_or(|chunk| chunk.len() == CHUNK_LEN)
    );
    assert_eq!(coming.recv().await, None);
}

#[tokio::test]
async fn states_above_the_limit_are_refused_while_they_arrive() {
    let mut bounds = Bounds::default();
    bounds.state.payload = 100_000;
    let mut pair = pair(bounds).await;
    for (length, is_refused) in [(100_000, false), (100_001, true)] {
        let sending = pair.a.sender.send_state(NODE, NODE, state(1, length));
        let (sent, received) = tokio::join!(sending, pair.b.states.receive());
        // All bytes of a state may have arrived before it is refused.
        assert!(is_refused || sent.is_ok());
        assert_eq!(received.is_err(), is_refused);
        match received {
            Ok(received) => assert_eq!(received.state.payload.len(), length),
            Err(error) => assert!(
                is_refused
                    && error
                        .to_string()
                        .ends_with("a state of more than 100000 bytes"),
                "{error}"
            ),
        }
    }
}
