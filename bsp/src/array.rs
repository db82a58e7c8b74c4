//! Numbers that are encoded as they lie in memory.

use std::borrow::Borrow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Numbers of one type, encoded as their bytes, the lowest first.
///
/// A `Vec<f64>` is encoded number by number, with a type before each: 9 bytes for an `f64`, and many times what copying
/// takes. An `Array<f64>` takes 8 bytes for each and is copied. It is a slice in every other respect. In a text, such as
/// JSON, it is a list of numbers.
///
/// # Examples
///
/// ```
/// use bsp::Array;
///
/// let mut cells: Array<f64> = vec![1.0; 1000].into();
/// cells[0] = 2.0;
/// assert_eq!(cells.iter().sum::<f64>(), 1001.0);
/// assert_eq!(bsp::encoded_len(&cells).unwrap().0, 8003);
/// assert_eq!(bsp::encoded_len(&cells.to_vec()).unwrap().0, 9003);
/// ```
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Array<T>(Vec<T>);

/// What there are arrays of: floating-point numbers and integers, and rows of 1 to 32 of them, such as points in space.
pub trait Number: bytemuck::Pod + Serialize + for<'de> Deserialize<'de> + fmt::Debug {
    /// The number of which the bytes of this one are those in the other order on hosts that have the highest byte first; the
    /// same number on all others.
    #[doc(hidden)]
    #[must_use]
    fn to_little_endian(self) -> Self;
}

macro_rules! integers {
    ($($integer:ty),*) => {
        $(impl Number for $integer {
            fn to_little_endian(self) -> Self {
                self.to_le()
            }
        })*
    };
}

integers!(i8, i16, i32, i64, i128, u8, u16, u32, u64);

impl Number for f32 {
    fn to_little_endian(self) -> Self {
        Self::from_bits(self.to_bits().to_le())
    }
}

impl Number for f64 {
    fn to_little_endian(self) -> Self {
        Self::from_bits(self.to_bits().to_le())
    }
}

macro_rules! rows {
    ($($length:literal)*) => {
        $(impl<T: Number> Number for [T; $length] {
            fn to_little_endian(self) -> Self {
                self.map(T::to_little_endian)
            }
        })*
    };
}

rows!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32);

impl<T> Array<T> {
    /// The numbers, without copying them.
    #[must_use]
    pub fn into_vec(self) -> Vec<T> {
        self.0
    }
}

impl<T> Deref for Array<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> DerefMut for Array<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T> AsRef<[T]> for Array<T> {
    fn as_ref(&self) -> &[T] {
        &self.0
    }
}

impl<T> Borrow<[T]> for Array<T> {
    fn borrow(&self) -> &[T] {
        &self.0
    }
}

impl<T> From<Vec<T>> for Array<T> {
    fn from(numbers: Vec<T>) -> Self {
        Self(numbers)
    }
}

impl<T: Clone> From<&[T]> for Array<T> {
    fn from(numbers: &[T]) -> Self {
        Self(numbers.to_vec())
    }
}

impl<T> FromIterator<T> for Array<T> {
    fn from_iter<I: IntoIterator<Item = T>>(numbers: I) -> Self {
        Self(numbers.into_iter().collect())
    }
}

impl<T> Extend<T> for Array<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, numbers: I) {
        self.0.extend(numbers);
    }
}

impl<T> IntoIterator for Array<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a Array<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<T: fmt::Debug> fmt::Debug for Array<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl<T: Number> Serialize for Array<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(&self.0, serializer)
    }
}

impl<'de, T: Number> Deserialize<'de> for Array<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize(deserializer).map(Self)
    }
}

/// Encodes numbers as an [`Array`] of them.
pub(crate) fn serialize<T: Number, S: Serializer>(
    numbers: &[T],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    if serializer.is_human_readable() {
        return numbers.serialize(serializer);
    }
    if cfg!(target_endian = "little") {
        return serializer.serialize_bytes(bytemuck::cast_slice(numbers));
    }
    let turned: Vec<T> = numbers
        .iter()
        .map(|number| number.to_little_endian())
        .collect();
    serializer.serialize_bytes(bytemuck::cast_slice(&turned))
}

/// Decodes the numbers of an [`Array`].
pub(crate) fn deserialize<'de, T: Number, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    if deserializer.is_human_readable() {
        Vec::deserialize(deserializer)
    } else {
        deserializer.deserialize_bytes(Bytes(PhantomData))
    }
}

/// Reads numbers from bytes.
struct Bytes<T>(PhantomData<T>);

impl<'de, T: Number> Visitor<'de> for Bytes<T> {
    type Value = Vec<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "numbers of {} bytes each", size_of::<T>())
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<T>, E> {
        if !bytes.len().is_multiple_of(size_of::<T>()) {
            return Err(E::invalid_length(bytes.len(), &self));
        }
        // The bytes may begin at any address.
        let mut numbers: Vec<T> = bytemuck::pod_collect_to_vec(bytes);
        if cfg!(target_endian = "big") {
            for number in &mut numbers {
                *number = number.to_little_endian();
            }
        }
        Ok(numbers)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut bytes: A) -> Result<Vec<T>, A::Error> {
        let mut all = Vec::new();
        while let Some(byte) = bytes.next_element()? {
            all.push(byte);
        }
        self.visit_bytes(&all)
    }
}

#[cfg(test)]
mod tests;
