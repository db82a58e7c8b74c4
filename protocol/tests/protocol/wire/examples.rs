//! An example of every message, and messages like them: with other numbers and lists.
//!
//! Nothing here names a message. The examples are those of `pinned.txt`.

use bsp::{HostId, Rank, SetId};
use protocol::{Address, Limits, Message, decode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Number, Value};

/// An example of every message, with its sender and its receiver.
pub(crate) fn examples() -> Vec<(Address, Address, Message)> {
    let pinned = include_str!("pinned.txt").lines().skip(1);
    let message = |line: &str| {
        let (_, hex) = line.split_once(' ').unwrap();
        let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        let frame: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
        decode(frame.into(), &Limits::default()).unwrap()
    };
    pinned.map(message).collect()
}

/// The kind of the frame of a message, and its head. A receiver may refuse the message.
pub(crate) fn head(from: Address, to: Address, message: &Message) -> (u16, Vec<u8>) {
    let kind = match message {
        Message::Agent(_) => 0,
        Message::Node(_) => 1,
        Message::Job(_) => 2,
    };
    (kind, rmp_serde::to_vec(&(from, to, message)).unwrap())
}

/// Numbers from a seed (splitmix64).
pub(crate) struct Draw(pub(crate) u64);

impl Draw {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    pub(crate) fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(count.max(1)).unwrap()).unwrap()
    }

    pub(crate) fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    pub(crate) fn address(&mut self) -> Address {
        let index = self.of(&[0, 0, 0, 1, 1, 2, 7, u32::MAX]);
        match self.below(7) {
            0 | 1 => Address::Process(Rank(index)),
            2 | 3 => Address::Node(HostId(index)),
            4 | 5 => Address::SetManager(SetId(index)),
            _ => Address::Client,
        }
    }

    /// A message like `example`, without a payload, after `count` changes; `None` if it is none any more. Ids and counts are
    /// `small` ones, as in a job of a few processes, or of every magnitude.
    pub(crate) fn like(&mut self, example: &Message, small: bool, count: usize) -> Option<Message> {
        Some(match example {
            Message::Agent(message) => Message::Agent(self.changed(message, small, count)?),
            Message::Node(message) => Message::Node(self.changed(message, small, count)?),
            Message::Job(message) => Message::Job(self.changed(message, small, count)?),
        })
    }

    fn changed<M: Serialize + DeserializeOwned>(
        &mut self,
        message: &M,
        small: bool,
        count: usize,
    ) -> Option<M> {
        let mut value = serde_json::to_value(message).unwrap();
        let mut all = 0;
        each(&mut value, &mut |value| {
            all += 1;
            if let Value::Number(number) = value
                && number.is_u64()
                && small
            {
                *number = self.of(&[0, 0, 1, 1, 2]).into();
            }
        });
        for _ in 0..count {
            let mut left = self.below(all);
            each(&mut value, &mut |value| {
                if left == 0 {
                    self.change(value);
                }
                left = left.wrapping_sub(1);
            });
        }
        serde_json::from_value(value).ok()
    }

    fn change(&mut self, value: &mut Value) {
        match value {
            Value::Null | Value::String(_) | Value::Object(_) => {}
            _ if self.below(8) == 0 => *value = Value::Null,
            Value::Bool(flag) => *flag = !*flag,
            Value::Number(number) if number.is_f64() => {
                let extreme = [0.0, 1.0, -1.0, 1e60, -1e60, 1e308, 5e-324];
                let float = match self.below(2) {
                    0 => self.of(&extreme),
                    _ => self.float(),
                };
                *number = Number::from_f64(float).unwrap();
            }
            Value::Number(number) => {
                let special = [0, 1, 2, 3, 9999, 10_000, u64::from(u32::MAX), u64::MAX];
                let integer = match self.below(2) {
                    0 => self.of(&special),
                    // Of every magnitude, so that every length of its encoding occurs.
                    _ => self.next() >> self.below(64),
                };
                *number = integer.into();
            }
            Value::Array(values) => match self.below(3) {
                0 => values.clear(),
                1 => drop(values.pop()),
                _ => {
                    let times = self.below(20);
                    let last = values.last().cloned();
                    values.extend(last.into_iter().cycle().take(times));
                }
            },
        }
    }

    /// A number of any magnitude that a message may have.
    fn float(&mut self) -> f64 {
        let digits = 1.0 + f64::from(u32::try_from(self.below(1 << 31)).unwrap()) * 4e-9;
        let exponent = i32::try_from(self.below(179)).unwrap() - 119;
        self.of(&[1.0, -1.0]) * digits * 10_f64.powi(exponent)
    }
}

/// Calls `with` for each value inside `value` that is no object, and for itself.
fn each(value: &mut Value, with: &mut dyn FnMut(&mut Value)) {
    if !matches!(value, Value::Object(_)) {
        with(value);
    }
    match value {
        Value::Array(values) => values.iter_mut().for_each(|value| each(value, with)),
        Value::Object(values) => values.values_mut().for_each(|value| each(value, with)),
        _ => {}
    }
}
