//! Vectors that are used again.

/// An empty vector with the memory of `used`, unless that is much. To allocate it again costs little beside the work
/// that its entries stand for, and other vectors may need it until then.
pub(crate) fn emptied<T>(mut used: Vec<T>) -> Vec<T> {
    if KEPT_MAX < used.capacity() {
        return Vec::new();
    }
    used.clear();
    used
}

/// An empty vector with as much room as `used` had. Memory is taken again as entries are added, if that is much; where
/// the number of entries returns, no vector has to grow.
pub(crate) fn vacated<T>(used: Vec<T>) -> Vec<T> {
    let capacity = used.capacity();
    if capacity <= KEPT_MAX {
        return emptied(used);
    }
    drop(used);
    Vec::with_capacity(capacity)
}

/// The most entries for which memory is kept.
const KEPT_MAX: usize = 1 << 14;
