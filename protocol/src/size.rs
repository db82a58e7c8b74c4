//! How long a message is, by arithmetic.
//!
//! A simulated network charges for bytes that nobody makes. [`Length`] walks a value as the encoder
//! would and adds up what each part takes in compact MessagePack: it writes nothing and allocates
//! nothing, and cannot forget a field, because it sees the same ones.

use std::fmt::Error;

use bsp::units::Bytes;
use serde::ser::{self, Impossible};
use serde::{Serialize, Serializer};

use crate::frame::PREFIX_LEN;
use crate::message::{Address, Message};

impl Message {
    /// Bytes of this message inside a head; addresses, prefix and payload come on top.
    ///
    /// # Panics
    ///
    /// Never: no message holds a sequence whose length is unknown before its end.
    #[must_use]
    pub fn encoded_len(&self) -> u64 {
        encoded_len(self)
    }

    /// Bytes of the frame that [`encode`](crate::encode) would make: prefix, head and payload.
    #[must_use]
    pub fn frame_len(&self, from: Address, to: Address) -> u64 {
        let payload = self.payload().map_or(0, |payload| length_of(payload.len()));
        self.envelope_len(from, to) + payload
    }

    /// What a network is charged for this message.
    ///
    /// This is the length of its frame, with one exception: a process that declares what it occupies
    /// ([`State::declared`](crate::State::declared)) weighs as much as it declares, in place of its
    /// payload. The program of a modelled application is a few counters; what would have to move is the
    /// memory of the application it stands for.
    #[must_use]
    pub fn wire_size(&self, from: Address, to: Address) -> Bytes {
        match self.declared() {
            Some(declared) => Bytes(self.envelope_len(from, to)) + declared,
            None => Bytes(self.frame_len(from, to)),
        }
    }

    /// Bytes of prefix and head.
    fn envelope_len(&self, from: Address, to: Address) -> u64 {
        length_of(PREFIX_LEN) + encoded_len(&(from, to, self))
    }

    fn declared(&self) -> Option<Bytes> {
        if let Self::State(state) = self {
            state.declared
        } else {
            None
        }
    }
}

/// Bytes that `value` takes in compact MessagePack.
pub(crate) fn encoded_len<T: Serialize>(value: &T) -> u64 {
    let mut length = Length(0);
    value
        .serialize(&mut length)
        .expect("every sequence of a message knows its length");
    length.0
}

/// A length in memory, as a frame gives it.
pub(crate) fn length_of(length: usize) -> u64 {
    u64::try_from(length).expect("a length in memory fits 64 bits")
}

/// Adds up lengths; what is serialised into it leaves nothing else behind.
struct Length(u64);

impl Length {
    const fn unsigned(&mut self, value: u64) {
        self.0 += match value {
            0..0x80 => 1,
            0x80..0x100 => 2,
            0x100..0x1_0000 => 3,
            0x1_0000..0x1_0000_0000 => 5,
            _ => 9,
        };
    }

    const fn signed(&mut self, value: i64) {
        self.0 += match value {
            -0x20..0 => 1,
            -0x80..-0x20 => 2,
            -0x8000..-0x80 => 3,
            -0x8000_0000..-0x8000 => 5,
            i64::MIN..-0x8000_0000 => 9,
            0.. => return self.unsigned(value.unsigned_abs()),
        };
    }

    fn text(&mut self, length: usize) {
        self.0 += length_of(length);
        self.0 += match length {
            0..0x20 => 1,
            0x20..0x100 => 2,
            0x100..0x1_0000 => 3,
            _ => 5,
        };
    }

    fn binary(&mut self, length: usize) {
        self.0 += length_of(length);
        self.0 += match length {
            0..0x100 => 2,
            0x100..0x1_0000 => 3,
            _ => 5,
        };
    }

    /// The marker of an array or a map.
    const fn collection(&mut self, length: usize) {
        self.0 += match length {
            0..0x10 => 1,
            0x10..0x1_0000 => 3,
            _ => 5,
        };
    }

    /// A variant with content: a map of one entry, and its key.
    fn variant(&mut self, name: &str) {
        self.collection(1);
        self.text(name.len());
    }
}

macro_rules! numbers {
    ($($method:ident($number:ty) as $wide:ident;)*) => {$(
        fn $method(self, value: $number) -> Result<(), Error> {
            self.$wide(value.into());
            Ok(())
        }
    )*};
}

impl<'a> Serializer for &'a mut Length {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = &'a mut Length;
    type SerializeTuple = &'a mut Length;
    type SerializeTupleStruct = &'a mut Length;
    type SerializeTupleVariant = &'a mut Length;
    type SerializeMap = Impossible<(), Error>;
    type SerializeStruct = &'a mut Length;
    type SerializeStructVariant = &'a mut Length;

    numbers! {
        serialize_u8(u8) as unsigned;
        serialize_u16(u16) as unsigned;
        serialize_u32(u32) as unsigned;
        serialize_u64(u64) as unsigned;
        serialize_i8(i8) as signed;
        serialize_i16(i16) as signed;
        serialize_i32(i32) as signed;
        serialize_i64(i64) as signed;
    }

    fn is_human_readable(&self) -> bool {
        false
    }

    fn serialize_bool(self, _: bool) -> Result<(), Error> {
        self.0 += 1;
        Ok(())
    }

    fn serialize_f32(self, _: f32) -> Result<(), Error> {
        self.0 += 5;
        Ok(())
    }

    fn serialize_f64(self, _: f64) -> Result<(), Error> {
        self.0 += 9;
        Ok(())
    }

    fn serialize_char(self, value: char) -> Result<(), Error> {
        self.text(value.len_utf8());
        Ok(())
    }

    fn serialize_str(self, value: &str) -> Result<(), Error> {
        self.text(value.len());
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Error> {
        self.binary(value.len());
        Ok(())
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.0 += 1;
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        self.collection(0);
        Ok(())
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), Error> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        self.variant(variant);
        value.serialize(self)
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Self, Error> {
        self.collection(length.ok_or(Error)?);
        Ok(self)
    }

    fn serialize_tuple(self, length: usize) -> Result<Self, Error> {
        self.collection(length);
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, length: usize) -> Result<Self, Error> {
        self.collection(length);
        Ok(self)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Self, Error> {
        self.variant(variant);
        self.collection(length);
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Impossible<(), Error>, Error> {
        Err(Error)
    }

    fn serialize_struct(self, _: &'static str, length: usize) -> Result<Self, Error> {
        self.collection(length);
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Self, Error> {
        self.variant(variant);
        self.collection(length);
        Ok(self)
    }
}

macro_rules! compounds {
    ($($compound:ident::$method:ident($($key:ident)?);)*) => {$(
        impl ser::$compound for &mut Length {
            type Ok = ();
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(
                &mut self,
                $($key: &'static str,)?
                value: &T,
            ) -> Result<(), Error> {
                value.serialize(&mut **self)
            }

            fn end(self) -> Result<(), Error> {
                Ok(())
            }
        }
    )*};
}

compounds! {
    SerializeSeq::serialize_element();
    SerializeTuple::serialize_element();
    SerializeTupleStruct::serialize_field();
    SerializeTupleVariant::serialize_field();
    SerializeStruct::serialize_field(_key);
    SerializeStructVariant::serialize_field(_key);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Serialize>(value: &T) {
        let encoded = rmp_serde::to_vec(value).unwrap();
        assert_eq!(encoded_len(value), length_of(encoded.len()));
    }

    #[test]
    fn numbers_take_what_their_value_needs() {
        for bits in 0..64 {
            for value in [(1_u64 << bits) - 1, 1 << bits, (1 << bits) + 1] {
                check(&value);
                check(&value.cast_signed());
                check(&value.cast_signed().wrapping_neg());
            }
        }
        check(&(1.5_f64, 1.5_f32, true, (), 'ß', [i8::MIN, -1, 0, i8::MAX]));
    }

    #[test]
    fn collections_and_texts_take_what_their_length_needs() {
        for length in [0, 1, 15, 16, 31, 32, 255, 256, 65_535, 65_536] {
            check(&vec![7_u8; length]);
            check(&"x".repeat(length));
            check(&bytes::Bytes::from(vec![0; length]));
        }
    }

    #[test]
    fn every_kind_of_variant_is_counted() {
        #[derive(Serialize)]
        enum Shape {
            Unit,
            Newtype(u32),
            Tuple(u8, i16),
            Struct {
                some: Option<u64>,
                none: Option<u64>,
            },
        }
        #[derive(Serialize)]
        struct Unit;
        #[derive(Serialize)]
        struct Pair(u16, Unit);

        let long = Shape::Struct {
            some: Some(u64::MAX),
            none: None,
        };
        check(&[
            Shape::Unit,
            Shape::Newtype(300),
            Shape::Tuple(1, -300),
            long,
        ]);
        check(&Pair(9, Unit));
    }
}
