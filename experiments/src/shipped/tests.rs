//! Outputs that a node has changed are rejected or accepted, and never a panic.

use bsp::{Program, reference};
use proptest::prelude::*;
use serde_json::{Value, json};
use settings::Files;

use super::*;

/// Changes a value in the tree, the one that `left` others precede.
fn change(value: &mut Value, left: &mut usize, how: u8) -> bool {
    if *left == 0 {
        let changed = changed(value, how);
        *value = changed;
        return true;
    }
    *left -= 1;
    match value {
        Value::Array(items) => items.iter_mut().any(|item| change(item, left, how)),
        Value::Object(entries) => entries.values_mut().any(|entry| change(entry, left, how)),
        _ => false,
    }
}

fn changed(value: &Value, how: u8) -> Value {
    match value {
        Value::Array(items) => {
            let mut items = items.clone();
            match how % 5 {
                0 => drop(items.pop()),
                1 => items.clear(),
                2 => items.extend(items.clone()),
                3 => items.reverse(),
                _ => items.extend(items.first().cloned()),
            }
            items.into()
        }
        Value::Number(number) if number.is_f64() => {
            let numbers = [0.0, -1.0, 1e300, f64::MIN_POSITIVE, 1.5];
            numbers[usize::from(how) % numbers.len()].into()
        }
        Value::Number(number) => {
            let near = number.as_u64().unwrap_or_default();
            let numbers = [
                0,
                1,
                near.wrapping_add(1),
                near.wrapping_sub(1),
                u64::MAX,
                1 << 31,
            ];
            numbers[usize::from(how) % numbers.len()].into()
        }
        Value::Null => json!(1),
        _ => Value::Null,
    }
}

/// An output that is encoded as `bytes`, with a change in its values, or else in its bytes.
fn decoded<Output: serde::de::DeserializeOwned>(
    bytes: &[u8],
    place: usize,
    how: u8,
) -> Option<Output> {
    if let Ok(mut tree) = rmp_serde::from_slice::<Value>(bytes) {
        let mut left = place;
        if change(&mut tree, &mut left, how) {
            return rmp_serde::from_slice(&rmp_serde::to_vec(&tree).ok()?).ok();
        }
    }
    let mut bytes = bytes.to_vec();
    let place = place % bytes.len();
    bytes[place] ^= 1 << (how % 8);
    rmp_serde::from_slice(&bytes).ok()
}

/// The outputs of a small run of `W`, encoded.
fn encoded<W: Workload>(parameters: &W::Parameters, common: Common) -> Vec<Vec<u8>> {
    let programs = W::processes(parameters, common, Files::here()).unwrap();
    let run = reference::run(programs, reference::Limit::default()).unwrap();
    let outputs = run.outputs.iter();
    outputs
        .map(|output| rmp_serde::to_vec(output).unwrap())
        .collect()
}

fn check<W: Workload>(parameters: Value, (processes, supersteps): (u32, Option<u64>)) {
    let parameters: W::Parameters = serde_json::from_value(parameters).unwrap();
    let common = Common {
        processes,
        supersteps,
        seed: 1,
    };
    let outputs = encoded::<W>(&parameters, common);
    let verify = |outputs: &[<W::Program as Program>::Output]| {
        let verified = W::verify(&parameters, common, Files::here(), outputs);
        if verified.is_ok() {
            drop(W::files(&parameters, common, Files::here(), outputs));
        }
        verified
    };
    let decode = |bytes: &Vec<u8>| rmp_serde::from_slice(bytes).unwrap();
    let whole: Vec<_> = outputs.iter().map(decode).collect();
    verify(&whole).unwrap();
    let size = outputs.len();
    let longest = outputs.iter().map(Vec::len).max().unwrap();
    let changes = prop::collection::vec((0..size, 0..longest.min(400), any::<u8>()), 1..3);
    let config = ProptestConfig::with_cases(200);
    proptest!(config, |(changes in changes)| {
        let mut changed: Vec<_> = outputs.iter().map(decode).collect();
        // Which output, which of its values, and how it is changed.
        let changes: &Vec<(usize, usize, u8)> = &changes;
        for (process, place, how) in changes {
            if let Some(output) = decoded(&outputs[*process], *place, *how) {
                changed[*process] = output;
            }
        }
        // It says something, whatever the values are.
        drop(verify(&changed));
    });
}

#[test]
fn kernels_check_changed_outputs() {
    check::<SmithWatermanKernel>(json!({"length": 30, "scoring": "dna"}), (3, None));
    check::<LuKernel>(json!({"order": 6}), (4, None));
    check::<LatticeBoltzmannKernel>(json!({"width": 6, "height": 5}), (2, Some(3)));
    check::<HeatEquation>(json!({"width": 5, "height": 6}), (3, Some(4)));
    check::<MatrixProduct>(json!({"order": 4}), (3, None));
}

#[test]
fn models_check_changed_outputs() {
    check::<ModelFarm>(json!({"tasks": 8}), (3, None));
    check::<HRelations>(json!({}), (3, Some(4)));
    check::<KindsOfState>(
        json!({"kind": "bitonic", "state": [2000.0, 3000.0]}),
        (2, Some(2)),
    );
    check::<Synthetic>(json!({}), (3, Some(2)));
    check::<LatticeBoltzmann>(json!({}), (4, Some(2)));
    check::<LuDecomposition>(json!({"order": 40}), (4, None));
    check::<SmithWaterman>(json!({}), (4, None));
}
