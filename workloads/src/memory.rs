//! Allocations that may fail: parameters may ask for more memory than the machine has.

/// The `count` items of `items`; `None` if there is no memory for them.
pub(crate) fn collected<T>(count: usize, items: impl IntoIterator<Item = T>) -> Option<Vec<T>> {
    let mut collected = Vec::new();
    collected.try_reserve_exact(count).ok()?;
    collected.extend(items.into_iter().take(count));
    Some(collected)
}

/// Bytes in whole MB, rounded up, for messages.
pub(crate) fn megabytes(bytes: u128) -> u128 {
    bytes.div_ceil(1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_allocations_collect_nothing() {
        assert_eq!(collected(2, [7, 8, 9]), Some(vec![7, 8]));
        assert_eq!(collected(usize::MAX, 0_u64..), None);
        assert_eq!(collected(1 << 58, 0_u8..), None);
        assert_eq!(megabytes(1), 1);
        assert_eq!(megabytes(1 << 70), 1_180_591_620_717_412);
    }
}
