use proptest::prelude::*;

use super::*;

/// A store with a complete checkpoint before superstep 10, and the number of operations that writing that before 20, and
/// removing what is older, takes.
fn begun() -> (Store<SimulatedFiles>, u64) {
    let store = store(&[5, 10]);
    let mut whole = Store::new(store.files.clone(), HostId(0));
    go_on(&mut whole).unwrap();
    let operations = whole.files.operations() - store.files.operations();
    (store, operations)
}

fn go_on(store: &mut Store<SimulatedFiles>) -> Result<(), CompleteError> {
    write(store, description().job, generation(20))?;
    store.prune(generation(10), ONE)?;
    Ok(())
}

/// Has operation `number` of writing the next checkpoint fail.
fn failed(number: u64, fault: DiskFault) -> Store<SimulatedFiles> {
    let (mut store, _) = begun();
    let first = store.files.operations();
    store.files.fail_at(first + number, fault);
    assert!(go_on(&mut store).is_err(), "operation {number}");
    store
}

/// A generator of numbers from a seed.
fn draws(mut state: u64) -> impl FnMut(u64) -> u64 {
    move |below| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below.max(1)
    }
}

#[test]
fn a_loss_of_power_at_any_operation_leaves_a_whole_checkpoint() {
    let (_, operations) = begun();
    let mut found = BTreeMap::<u64, u32>::new();
    for number in 0..operations {
        let stopped = failed(number, DiskFault::Stop);
        for seed in 0..SEEDS {
            let mut store = Store::new(stopped.files.clone(), HostId(0));
            store.files.power_loss(&mut draws(seed));
            let (superstep, damaged) = latest(&mut store).unwrap();
            assert_eq!(damaged, [""; 0], "operation {number}, seed {seed}");
            *found.entry(superstep).or_default() += 1;
            // The job goes on in a new incarnation, in the same folder.
            let next = Generation {
                incarnation: 2,
                superstep: 12,
            };
            store.begin(&description()).unwrap();
            write(&mut store, description().job, next).unwrap();
            store.prune(next, ONE).unwrap();
            assert_eq!(latest(&mut store), Ok((12, vec![])));
        }
    }
    let supersteps: Vec<u64> = found.keys().copied().collect();
    assert_eq!(supersteps, [10, 20], "{found:?}");
}

proptest! {
    #[test]
    fn torn_writes_are_never_taken_for_a_checkpoint(
        number in any::<prop::sample::Index>(),
        draws in prop::collection::vec(any::<u64>(), 200),
    ) {
        let (_, operations) = begun();
        let number = number.index(usize::try_from(operations).unwrap());
        let mut store = failed(number.try_into().unwrap(), DiskFault::Stop);
        let mut draws = draws.into_iter().cycle();
        store.files.power_loss(&mut |below| draws.next().unwrap_or_default() % below.max(1));
        let (superstep, damaged) = latest(&mut store).unwrap();
        prop_assert!([10, 20].contains(&superstep));
        prop_assert!(damaged.is_empty(), "{:?}", damaged);
    }
}

#[test]
fn an_error_of_the_disk_at_any_operation_leaves_the_checkpoint_before() {
    let (_, operations) = begun();
    for number in 0..operations {
        let mut store = failed(number, DiskFault::Error);
        let (superstep, damaged) = latest(&mut store).unwrap();
        assert_eq!(damaged, [""; 0], "operation {number}");
        // Errors after the manifest has its name are about its folder, or older checkpoints.
        assert!([10, 20].contains(&superstep), "operation {number}");
        let incomplete = store.files.paths().filter(|path| path.ends_with(".new"));
        assert_eq!(incomplete.count(), 0, "operation {number}");
    }
}

#[test]
fn a_full_disk_leaves_the_checkpoint_before_and_no_file_of_the_next() {
    let (begun, _) = begun();
    let lengths = |files: &mut SimulatedFiles| -> u64 {
        let paths: Vec<String> = files.paths().map(str::to_owned).collect();
        paths.iter().map(|path| files.len(path).unwrap()).sum()
    };
    let mut before = begun.files.clone();
    let used = lengths(&mut before);
    let mut whole = Store::new(begun.files.clone(), HostId(0));
    write(&mut whole, description().job, generation(20)).unwrap();
    let needed = lengths(&mut whole.files) - used;
    let steps = (0..needed).step_by(997).chain([needed - 1]);
    for free in steps {
        let mut store = Store::new(begun.files.clone(), HostId(0));
        store.files.limit(used + free);
        let error = write(&mut store, description().job, generation(20)).unwrap_err();
        let error = error.to_string();
        assert!(
            error.starts_with("cannot write 00000000000000ab/1-20/"),
            "{error}"
        );
        assert_eq!(latest(&mut store), Ok((10, vec![])));
        // The same checkpoint can be written once there is space.
        store.files.repair();
        write(&mut store, description().job, generation(20)).unwrap();
        assert_eq!(latest(&mut store), Ok((20, vec![])));
    }
}

/// Losses of power at each operation.
const SEEDS: u64 = 40;
