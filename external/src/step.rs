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
