//! The images that are leaving a host.

/// The images that are leaving this host.
#[derive(Debug, Default)]
pub(super) struct Leaving {
    number: u32,
    /// Whether several have left at the same time.
    is_crowded: bool,
}

impl Leaving {
    /// An image leaves.
    pub(super) const fn begin(&mut self) {
        self.number += 1;
        self.is_crowded |= 1 < self.number;
    }

    /// An image has arrived. Returns whether it left alone.
    pub(super) const fn end(&mut self) -> bool {
        let is_alone = !self.is_crowded;
        self.number = self.number.saturating_sub(1);
        self.is_crowded &= 0 < self.number;
        is_alone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_alone_if_no_other_left_before_it_had_arrived() {
        let mut leaving = Leaving::default();
        leaving.begin();
        assert!(leaving.end());
        leaving.begin();
        leaving.begin();
        assert!(!leaving.end());
        assert!(!leaving.end());
        leaving.begin();
        assert!(leaving.end());
    }
}
