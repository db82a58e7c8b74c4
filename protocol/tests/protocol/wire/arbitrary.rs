//! Any message that can be encoded.

use bytes::Bytes;
use proptest::prelude::*;
use protocol::{Address, Limits, Message, NodeMessage, WIRE_VERSION, decode};

use crate::wire::examples::{Draw, examples, head};

pub(crate) fn address() -> impl Strategy<Value = Address> {
    any::<u64>().prop_map(|seed| Draw(seed).address())
}

pub(crate) fn message() -> impl Strategy<Value = Message> {
    let examples = examples();
    any::<u64>().prop_map(move |seed| {
        let mut draw = Draw(seed);
        loop {
            let (_, _, example) = &examples[draw.below(examples.len())];
            let (small, changes) = (draw.below(2) == 0, draw.below(8));
            let like = draw.like(example, small, changes);
            if let Some(message) = like.and_then(|message| with_payload(&message, &mut draw)) {
                return message;
            }
        }
    })
}

/// `message` with a payload, if it has one; `None` if it cannot be encoded.
fn with_payload(message: &Message, draw: &mut Draw) -> Option<Message> {
    let length = match message {
        Message::Node(NodeMessage::Batch(batch)) => {
            let mut lengths = batch.messages.iter().map(|message| message.bytes);
            let length = lengths.try_fold(0_u64, u64::checked_add)?;
            usize::try_from(length)
                .ok()
                .filter(|length| *length < 1000)?
        }
        _ if message.payload().is_some() => draw.below(300),
        _ => 0,
    };
    let payload: Vec<u8> = (0..length).map(|_| draw.next().to_le_bytes()[0]).collect();
    let (kind, head) = head(Address::Client, Address::Client, message);
    let mut frame = vec![0xB5, WIRE_VERSION];
    frame.extend(kind.to_le_bytes());
    frame.extend(u32::try_from(head.len()).unwrap().to_le_bytes());
    frame.extend(u64::try_from(payload.len()).unwrap().to_le_bytes());
    frame.extend([head, payload].concat());
    let decoded = decode(Bytes::from(frame), &Limits::default());
    decoded.ok().map(|(_, _, message)| message)
}
