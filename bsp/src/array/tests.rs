use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::numbers::length;
use crate::superstep::encoded_len;

fn encoded<T: Number>(array: &Array<T>) -> Vec<u8> {
    rmp_serde::to_vec(array).unwrap()
}

/// The bytes before `content` of bytes in `MessagePack`: a mark, and the length in 1, 2 or 4 bytes.
const fn head(content: usize) -> usize {
    match content {
        0..=0xff => 2,
        0x100..=0xffff => 3,
        _ => 5,
    }
}

/// Checks that numbers return from either encoding bit by bit, wherever their bytes begin, and what they take.
fn check<T: Number>(numbers: &[T], bytes_of: impl Fn(&T) -> Vec<u8>) {
    let array = Array::from(numbers);
    let encoded = encoded(&array);
    let content: Vec<u8> = numbers.iter().flat_map(&bytes_of).collect();
    assert_eq!(content.len(), size_of_val(numbers));
    assert_eq!(encoded.len(), head(content.len()) + content.len());
    assert_eq!(encoded[head(content.len())..], content);
    assert_eq!(encoded_len(&array).unwrap().0, length(encoded.len()));
    let bits = |array: &Array<T>| array.iter().flat_map(&bytes_of).collect::<Vec<u8>>();
    for offset in 0..16 {
        let moved = [&vec![0; offset], &encoded[..]].concat();
        let decoded: Array<T> = rmp_serde::from_slice(&moved[offset..]).unwrap();
        assert_eq!(bits(&decoded), content, "{offset}");
    }
    let decoded: Array<T> = rmp_serde::from_read(&encoded[..]).unwrap();
    assert_eq!(bits(&decoded), content);
}

/// Checks that the text is that of a list.
fn check_text<T: Number + PartialEq>(numbers: &[T]) {
    let text = serde_json::to_string(&Array::from(numbers)).unwrap();
    assert_eq!(text, serde_json::to_string(numbers).unwrap());
    let read: Array<T> = serde_json::from_str(&text).unwrap();
    assert_eq!(&*read, numbers);
}

macro_rules! integers {
    ($($integer:ident),*) => {
        proptest! {
            $(#[test]
            fn $integer(numbers in prop::collection::vec(any::<$integer>(), 0..300)) {
                check(&numbers, |number| number.to_le_bytes().to_vec());
                check_text(&numbers);
            })*
        }
    };
}

/// Of each type of integers.
mod integers_return_from_either_encoding {
    use super::*;

    integers!(i8, i16, i32, i64, u8, u16, u32, u64);

    #[test]
    fn i128() {
        let numbers = [0, -1, i128::MIN, i128::MAX, 1 << 100];
        check(&numbers, |number| number.to_le_bytes().to_vec());
        check_text(&numbers);
    }
}

proptest! {
    /// Zeros have signs, and what is not a number has bits of its own.
    #[test]
    fn floats_return_bit_by_bit(bits in prop::collection::vec(any::<u64>(), 0..300)) {
        let numbers: Vec<f64> = bits.iter().copied().map(f64::from_bits).collect();
        check(&numbers, |number| number.to_bits().to_le_bytes().to_vec());
        let finite: Vec<f64> = numbers.into_iter().filter(|number| number.is_finite()).collect();
        check_text(&finite);
        let numbers: Vec<f32> = bits
            .iter()
            .map(|bits| f32::from_bits(u32::try_from(bits >> 32).unwrap()))
            .collect();
        check(&numbers, |number| number.to_bits().to_le_bytes().to_vec());
        let finite: Vec<f32> = numbers.into_iter().filter(|number| number.is_finite()).collect();
        check_text(&finite);
    }

    #[test]
    fn rows_are_encoded_as_their_numbers(points in prop::collection::vec(any::<[i32; 3]>(), 0..100)) {
        check(&points, |point| point.iter().flat_map(|number| number.to_le_bytes()).collect());
        check_text(&points);
        let numbers: Array<i32> = points.iter().flatten().copied().collect();
        prop_assert_eq!(encoded(&Array::from(points)), encoded(&numbers));
    }

    #[test]
    fn bytes_that_are_no_whole_numbers_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let encoded = encoded(&Array::from(&bytes[..]));
        let is_whole = |size: usize| bytes.len().is_multiple_of(size);
        prop_assert_eq!(rmp_serde::from_slice::<Array<u16>>(&encoded).is_ok(), is_whole(2));
        prop_assert_eq!(rmp_serde::from_slice::<Array<f32>>(&encoded).is_ok(), is_whole(4));
        prop_assert_eq!(rmp_serde::from_slice::<Array<f64>>(&encoded).is_ok(), is_whole(8));
        prop_assert_eq!(rmp_serde::from_slice::<Array<i128>>(&encoded).is_ok(), is_whole(16));
        prop_assert_eq!(rmp_serde::from_slice::<Array<[f64; 3]>>(&encoded).is_ok(), is_whole(24));
    }

    /// Bytes of a peer are an array or an error.
    #[test]
    fn any_bytes_decode_or_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        rmp_serde::from_slice::<Array<f64>>(&bytes).ok();
        rmp_serde::from_slice::<Array<[u16; 5]>>(&bytes).ok();
        serde_json::from_slice::<Array<u32>>(&bytes).ok();
    }
}

#[test]
fn lengths_around_those_of_the_heads_return() {
    for count in [0, 31, 32, 8191, 8192] {
        let numbers: Vec<u64> = (0..count).collect();
        check(&numbers, |number| number.to_le_bytes().to_vec());
    }
}

#[test]
fn refusals_say_what_is_expected() {
    let refusal = |bytes: &[u8]| {
        rmp_serde::from_slice::<Array<f64>>(bytes)
            .unwrap_err()
            .to_string()
    };
    let found = refusal(b"\xc4\x03abc");
    assert!(
        found.contains("invalid length 3, expected numbers of 8 bytes each"),
        "{found}"
    );
    // A list of numbers, as a vector is encoded.
    let found = refusal(&rmp_serde::to_vec(&[1.5, 2.5]).unwrap());
    assert!(found.contains("expected u8"), "{found}");
    // It ends before its length.
    assert!(rmp_serde::from_slice::<Array<f64>>(b"\xc4\x10abcdefgh").is_err());
    assert!(rmp_serde::from_slice::<Array<f64>>(b"\xc6\xff\xff\xff\xff").is_err());
}

#[test]
fn an_array_is_a_slice() {
    let mut array: Array<u32> = (1..4).collect();
    array.extend([9, 7]);
    array.sort_unstable();
    assert_eq!(&*array, [1, 2, 3, 7, 9]);
    assert_eq!((&array).into_iter().sum::<u32>(), 22);
    assert_eq!(format!("{array:?}"), "[1, 2, 3, 7, 9]");
    assert_eq!([array.clone(), vec![5].into()].concat(), [1, 2, 3, 7, 9, 5]);
    assert_eq!(array.into_iter().rev().collect::<Vec<_>>(), [9, 7, 3, 2, 1]);
}

#[test]
fn a_field_is_a_list_in_a_text() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Strip {
        cells: Array<f64>,
        places: Array<[u8; 2]>,
    }
    let strip = Strip {
        cells: vec![0.5, -2.0].into(),
        places: vec![[1, 2]].into(),
    };
    let text = serde_json::to_value(&strip).unwrap();
    assert_eq!(text, json!({"cells": [0.5, -2.0], "places": [[1, 2]]}));
    assert_eq!(serde_json::from_value::<Strip>(text).unwrap(), strip);
}
