use bytes::{Bytes, BytesMut};
use protocol::ProcessImage;
use protocol::transport::{Bounds, CHUNK_LEN, StreamContent};
use tokio::sync::mpsc;

use crate::transport::{NODE, frame, pair, receive, start_call};

fn state(rank: u32, length: usize) -> ProcessImage {
    let mut payload = BytesMut::with_capacity(length);
    let mut word = 0x9E37_79B9_u32;
    while payload.len() + 4 <= length {
        word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        payload.extend_from_slice(&word.to_le_bytes());
    }
    payload.resize(length, 0xA5);
    ProcessImage {
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
    for length in [0, 1, CHUNK_LEN, 3 * CHUNK_LEN + 1] {
        let whole = state(1, length);
        let without = ProcessImage {
            payload: Bytes::new(),
            ..whole.clone()
        };
        let (made, chunks) = mpsc::channel(1);
        let (taken, mut coming) = mpsc::channel(1);
        let payload = (u64::try_from(length).unwrap(), chunks);
        let sending = pair.a.sender.send_state_chunks(
            NODE,
            NODE,
            StreamContent::State(without.clone()),
            payload,
        );
        let making = async {
            for chunk in whole.payload.chunks(CHUNK_LEN) {
                made.send(Bytes::copy_from_slice(chunk)).await.unwrap();
            }
        };
        let reading = async {
            let opened = pair.b.states.accept().await.unwrap();
            assert_eq!(
                (opened.from, opened.to, &opened.content),
                (NODE, NODE, &StreamContent::State(without.clone()))
            );
            assert_eq!(opened.payload.len(), payload_len(&whole));
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
        sent.unwrap();
        assert!(joined == whole.payload, "{length} bytes");
    }
}

#[tokio::test]
async fn incomplete_states_are_failures_at_the_other_end() {
    let mut pair = pair(Bounds::default()).await;
    let (made, chunks) = mpsc::channel(1);
    let without = state(1, 0);
    let sending = pair.a.sender.send_state_chunks(
        NODE,
        NODE,
        StreamContent::State(without),
        (2_000_000, chunks),
    );
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
    assert_eq!(coming.recv().await, None);
}

fn payload_len(state: &ProcessImage) -> u64 {
    u64::try_from(state.payload.len()).unwrap()
}
