//! What a superstep gives an executor, and what the executor gives back.

use bsp::reduction::{Extent, REDUCTION_NAME_MAX, Reduced};
use bsp::units::{Bytes as Amount, Instructions, Seconds};
use bsp::{And, Max, Min, Or, Rank, Sum, Superstep, check_note_name};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::data::{Blob, Output};
use crate::frame::{ALL, FrameError, Reader, UNKNOWN, Writer, request};

/// The kinds of items.
mod item {
    pub(super) const NONE: u8 = 0;
    pub(super) const SUM: u8 = 1;
    pub(super) const MIN: u8 = 2;
    pub(super) const MAX: u8 = 3;
    pub(super) const AND: u8 = 4;
    pub(super) const OR: u8 = 5;
    pub(super) const GATHER: u8 = 6;
    pub(super) const NOTE: u8 = 7;
    pub(super) const SNAPSHOT: u8 = 8;
}

/// The types of numbers in items.
mod number {
    pub(super) const FLOAT: u8 = 0;
    pub(super) const SIGNED: u8 = 1;
    pub(super) const UNSIGNED: u8 = 2;
}

/// Flags of a DONE.
mod flag {
    pub(super) const HALTS: u32 = 1;
    pub(super) const VALUE: u32 = 2;
    pub(super) const LOOKED: u32 = 4;
}

/// The flag of a message without a content.
const SIZED: u32 = 1;

/// The most messages that a process sends in a superstep.
const MESSAGES_MAX: u32 = 1 << 24;

/// The request to execute the superstep of `ctx`.
pub(crate) fn step(handle: u32, ctx: &mut Superstep<'_, Blob>) -> Writer {
    let mut writer = Writer::new(request::STEP, handle);
    let sized = ctx.receive_sized().to_vec();
    let messages: Vec<(Rank, Blob)> = ctx.receive().collect();
    let standby: Vec<Rank> = ctx.standby().to_vec();
    let items = items(ctx);
    writer.u64(ctx.index());
    writer.f64(ctx.elapsed().get());
    writer.u32(count(messages.len() + sized.len()));
    writer.u32(count(standby.len()));
    writer.u32(count(items.len()));
    writer.u32(0);
    // Both lists are ordered by sender.
    let mut sized = sized.into_iter().peekable();
    for (from, Blob(content)) in &messages {
        while let Some((sender, length)) = sized.next_if(|(sender, _)| sender < from) {
            record(&mut writer, sender, SIZED, length.0);
        }
        record(&mut writer, *from, 0, bsp::numbers::length(content.len()));
    }
    for (sender, length) in sized {
        record(&mut writer, sender, SIZED, length.0);
    }
    for rank in standby {
        writer.u32(rank.0);
    }
    writer.pad();
    for Item {
        kind,
        number,
        rank,
        name,
        content,
    } in items
    {
        writer.u8(kind);
        writer.u8(number);
        writer.u16(u16::try_from(name.len()).expect("names are short"));
        writer.u32(rank);
        writer.u64(bsp::numbers::length(content.len()));
        writer.put(name.as_bytes());
        writer.pad();
        writer.part(&content);
    }
    for (_, Blob(content)) in &messages {
        writer.part(content);
    }
    writer
}

fn record(writer: &mut Writer, rank: Rank, flags: u32, length: u64) {
    writer.u32(rank.0);
    writer.u32(flags);
    writer.u64(length);
}

fn count(count: usize) -> u32 {
    u32::try_from(count).expect("fewer than 2^32")
}

/// A result of a reduction, or a contribution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Item {
    kind: u8,
    number: u8,
    rank: u32,
    name: String,
    content: Bytes,
}

/// The results that all processes have.
fn items(ctx: &Superstep<'_, Blob>) -> Vec<Item> {
    let mut items = Vec::new();
    for (name, reduced) in ctx.all_reduced() {
        let mut add = |kind, number, rank, content| {
            let name = name.to_owned();
            items.push(Item {
                kind,
                number,
                rank,
                name,
                content,
            });
        };
        match reduced {
            Reduced::Floats(extent, numbers) => {
                let bytes = numbers.iter().flat_map(|number| number.to_le_bytes());
                add(kind(extent), number::FLOAT, 0, bytes.collect());
            }
            Reduced::Signed(extent, numbers) => {
                let bytes = numbers.iter().flat_map(|number| number.to_le_bytes());
                add(kind(extent), number::SIGNED, 0, bytes.collect());
            }
            Reduced::Unsigned(extent, numbers) => {
                let bytes = numbers.iter().flat_map(|number| number.to_le_bytes());
                add(kind(extent), number::UNSIGNED, 0, bytes.collect());
            }
            Reduced::And(holds) => add(item::AND, 0, 0, vec![u8::from(holds)].into()),
            Reduced::Or(holds) => add(item::OR, 0, 0, vec![u8::from(holds)].into()),
            Reduced::Gathered(values) => {
                for (rank, value) in values {
                    add(item::GATHER, 0, rank.0, value.clone());
                }
            }
            Reduced::Overflow(sum) => {
                let problem = format!("the sum is {sum}, which does not fit its type");
                add(item::NONE, 0, 0, problem.into());
            }
        }
    }
    items
}

const fn kind(extent: Extent) -> u8 {
    match extent {
        Extent::Sum => item::SUM,
        Extent::Min => item::MIN,
        Extent::Max => item::MAX,
    }
}

/// The reply to a STEP.
#[derive(Debug)]
pub(crate) struct Done {
    /// The output, if the process halts.
    pub(crate) output: Option<Output>,
    /// Whether the program looked at what laws do not determine.
    pub(crate) has_looked: bool,
    pub(crate) charge: Instructions,
    pub(crate) busy: Seconds,
    /// The length of the state, if it is known.
    pub(crate) length: Option<u64>,
    /// The supersteps left, if they are known.
    pub(crate) left: Option<u64>,
    pub(crate) progress: Option<f64>,
    pub(crate) sends: Vec<(u32, Sent)>,
    pub(crate) items: Vec<Item>,
}

/// What a process sent.
#[derive(Debug)]
pub(crate) enum Sent {
    Content(Bytes),
    Sized(u64),
}

impl Done {
    pub(crate) fn read(body: Bytes) -> Result<Self, FrameError> {
        let mut body = Reader::new(body);
        let flags = body.u32()?;
        let messages = body.u32()?;
        let items = body.u32()?;
        zero(body.u32()?.into())?;
        let charge = Instructions(body.u64()?);
        let busy = body.u64()?;
        let length = body.u64()?;
        let left = body.u64()?;
        let progress = body.f64()?;
        let output = body.u64()?;
        if MESSAGES_MAX < messages {
            return Err(contradiction(format!("{messages} messages")));
        }
        let mut records = Vec::new();
        for _ in 0..messages {
            records.push((body.u32()?, body.u32()?, body.u64()?));
        }
        let mut read = Vec::new();
        for _ in 0..items {
            read.push(Item::read(&mut body)?);
        }
        let mut sends = Vec::with_capacity(records.len());
        for (to, flags, length) in records {
            let sent = match flags {
                0 => Sent::Content(body.part(length)?),
                SIZED if to != ALL => Sent::Sized(length),
                _ => return Err(contradiction(format!("flags {flags} of a message"))),
            };
            sends.push((to, sent));
        }
        let output_bytes = body.part(output)?;
        body.end()?;
        let halts = flags & flag::HALTS != 0;
        if !halts && 0 < output {
            return Err(contradiction(
                "an output of a process that goes on".to_owned(),
            ));
        }
        let output = match halts {
            false => None,
            true if flags & flag::VALUE == 0 => Some(Output::of_bytes(output_bytes)),
            true => {
                let output = Output::of_value(output_bytes);
                Some(output.map_err(|error| contradiction(error.to_string()))?)
            }
        };
        let nanoseconds = bsp::numbers::real(busy);
        Ok(Self {
            output,
            has_looked: flags & flag::LOOKED != 0,
            charge,
            busy: Seconds::new(nanoseconds * 1e-9).unwrap_or(Seconds::ZERO),
            length: (length != 0).then_some(length),
            left: (left != UNKNOWN).then_some(left),
            progress: (!progress.is_nan()).then_some(progress.clamp(0.0, 1.0)),
            sends,
            items: read,
        })
    }

    /// Sends, reduces and notes what the process did.
    pub(crate) fn carry_out(&mut self, ctx: &mut Superstep<'_, Blob>) -> Result<(), String> {
        for (to, sent) in std::mem::take(&mut self.sends) {
            match sent {
                Sent::Content(content) if to == ALL => {
                    let sent = ctx.broadcast(&Blob(content));
                    sent.map_err(|error| error.to_string())?;
                }
                Sent::Content(content) => ctx.send(Rank(to), Blob(content)),
                Sent::Sized(length) => ctx.send_sized(Rank(to), Amount(length)),
            }
        }
        std::mem::take(&mut self.items)
            .into_iter()
            .try_for_each(|item| item.carry_out(ctx))
    }
}

fn zero(number: u64) -> Result<(), FrameError> {
    match number {
        0 => Ok(()),
        _ => Err(contradiction(format!("{number} where 0 belongs"))),
    }
}

fn contradiction(problem: String) -> FrameError {
    FrameError::Contradiction(problem)
}

impl Item {
    /// A contribution of floats to a sum.
    pub(crate) fn sum(name: &str, content: Bytes) -> Self {
        Self {
            kind: item::SUM,
            number: number::FLOAT,
            rank: 0,
            name: name.to_owned(),
            content,
        }
    }

    /// The bytes of the contribution.
    #[cfg(test)]
    pub(crate) fn len(&self) -> u64 {
        bsp::numbers::length(self.content.len())
    }

    fn read(body: &mut Reader) -> Result<Self, FrameError> {
        let kind = body.u8()?;
        let number = body.u8()?;
        let name = body.u16()?;
        let rank = body.u32()?;
        let content = body.u64()?;
        Ok(Self {
            kind,
            number,
            rank,
            name: body.text(name.into())?,
            content: body.part(content)?,
        })
    }

    pub(crate) fn carry_out(self, ctx: &mut Superstep<'_, Blob>) -> Result<(), String> {
        let Self {
            kind,
            number,
            name,
            content,
            ..
        } = self;
        if kind != item::SNAPSHOT && REDUCTION_NAME_MAX < name.len() {
            return Err(format!(
                "the name `{name}` has more than {REDUCTION_NAME_MAX} bytes"
            ));
        }
        let holds = content.first().is_some_and(|byte| *byte != 0);
        match kind {
            item::SUM | item::MIN | item::MAX => numbers(ctx, (kind, number), name, &content)?,
            item::AND => ctx.reduce(name, And(holds)),
            item::OR => ctx.reduce(name, Or(holds)),
            item::GATHER => ctx.gather_encoded(name, content),
            item::NOTE => {
                check_note_name(&name)?;
                let value = words(&content, f64::from_le_bytes)?;
                let [value] = value[..] else {
                    return Err(format!("the note `{name}` has {} values", value.len()));
                };
                ctx.note(name, value);
            }
            item::SNAPSHOT => {
                let taken = match number {
                    0 => ctx.snapshot_bytes(&name, content),
                    _ => ctx.snapshot_encoded(&name, content),
                };
                taken.map_err(|error| error.to_string())?;
            }
            _ => return Err(format!("an item of kind {kind} has no meaning")),
        }
        Ok(())
    }
}

/// Contributes numbers to a sum, a minimum or a maximum.
fn numbers(
    ctx: &mut Superstep<'_, Blob>,
    (kind, number): (u8, u8),
    name: String,
    content: &Bytes,
) -> Result<(), String> {
    macro_rules! reduce {
        ($from:expr) => {{
            let numbers = words(content, $from)?;
            match kind {
                item::SUM => ctx.reduce(name, Sum(numbers)),
                item::MIN => ctx.reduce(name, Min(numbers)),
                _ => ctx.reduce(name, Max(numbers)),
            }
        }};
    }
    match number {
        number::FLOAT => reduce!(f64::from_le_bytes),
        number::SIGNED => reduce!(i64::from_le_bytes),
        number::UNSIGNED => reduce!(u64::from_le_bytes),
        _ => return Err(format!("numbers of type {number} have no meaning")),
    }
    Ok(())
}

/// Numbers of 8 bytes.
fn words<T>(content: &[u8], from: impl Fn([u8; 8]) -> T) -> Result<Vec<T>, String> {
    let chunks = content.chunks(8);
    let word = |chunk: &[u8]| Some(from(chunk.try_into().ok()?));
    let words: Option<Vec<T>> = chunks.map(word).collect();
    words.ok_or_else(|| format!("numbers of 8 B are {} B long", content.len()))
}

#[cfg(test)]
mod tests {
    use bsp::{Conditions, Inbox, Outbox};
    use proptest::prelude::*;

    use super::*;
    use crate::frame::Frame;

    /// A DONE with everything that one may have.
    fn done() -> Vec<u8> {
        let mut done = Writer::new(crate::frame::reply::DONE, 7);
        done.u32(flag::HALTS | flag::VALUE);
        done.u32(3);
        done.u32(8);
        done.u32(0);
        for number in [1000, 2000, 300, 4] {
            done.u64(number);
        }
        done.f64(0.5);
        // A list of a number, a text, and an array of one number without zeros before it.
        let mut value = b"\x93\x01\xa2ab\xc7\x16\x01\x00\x01\x03<f8\x01\0\0\0\0\0\0\0".to_vec();
        value.extend(1.5_f64.to_le_bytes());
        done.u64(bsp::numbers::length(value.len()));
        for (to, flags, length) in [(1, 0, 20), (ALL, 0, 3), (0, SIZED, 5000)] {
            done.u32(to);
            done.u32(flags);
            done.u64(length);
        }
        let numbers = Bytes::from_static(&[1; 16]);
        for (kind, content) in [
            (item::SUM, &numbers[..]),
            (item::MIN, &numbers[..]),
            (item::MAX, &numbers[..8]),
            (item::AND, &[1][..]),
            (item::OR, &[0][..]),
            (item::GATHER, b"abc"),
            (item::NOTE, &numbers[..8]),
            (item::SNAPSHOT, b"snap"),
        ] {
            done.u8(kind);
            done.u8(0);
            done.u16(5);
            done.u32(0);
            done.u64(bsp::numbers::length(content.len()));
            done.put(format!("name{kind}").as_bytes());
            done.pad();
            done.part(&Bytes::copy_from_slice(content));
        }
        done.part(&Bytes::from_static(&[9; 20]));
        done.part(&Bytes::from_static(b"all"));
        done.part(&Bytes::from(value));
        let mut frame = Vec::new();
        done.write(&mut frame).unwrap();
        frame
    }

    /// Reads a reply as the runtime does, and does what it says.
    fn read(frame: &[u8]) -> Result<bool, String> {
        let frame = Frame::read(frame).map_err(|error| error.to_string())?;
        let mut done = Done::read(frame.body).map_err(|error| error.to_string())?;
        let (mut inbox, mut outbox) = (Inbox::default(), Outbox::default());
        let who = (Rank(2), 4);
        let mut ctx = Superstep::new(who, Conditions::default(), &mut inbox, &mut outbox);
        done.carry_out(&mut ctx)?;
        drop(done.output.map(|output| output.value()));
        Ok(outbox.sends.len() == 5)
    }

    #[test]
    fn a_reply_with_everything_is_read() {
        assert_eq!(read(&done()), Ok(true));
    }

    proptest! {
        /// `PROPTEST_CASES=1000000 cargo test --release -p migbsp-external -- random_` is a longer run.
        #[test]
        fn random_changes_of_replies_are_refused_or_read(
            changes in prop::collection::vec((0..done().len(), any::<u8>(), any::<bool>()), 1..6),
            cut in prop::option::weighted(0.2, 0..done().len()),
        ) {
            let mut frame = done();
            for (at, byte, is_bit) in changes {
                if is_bit {
                    frame[at] ^= 1 << (byte % 8);
                } else {
                    frame[at] = byte;
                }
            }
            frame.truncate(cut.unwrap_or(frame.len()));
            let length = frame.len();
            let used = allocation_counter::measure(|| drop(read(&frame)));
            // Sums of long vectors, and lists of values, take more than their bytes, but not much.
            let most = (64 << 20) + 64 * length as u64;
            prop_assert!(used.bytes_max <= most, "{} B for {length} B", used.bytes_max);
        }
    }
}
