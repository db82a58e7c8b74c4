//! What the paper prints of figure 1.

/// A printed number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Printed {
    pub(super) value: f64,
    /// Half a unit of the last printed digit.
    pub(super) precision: f64,
}

impl Printed {
    /// The lowest and the highest number that are printed like this.
    pub(super) const fn range(self) -> [f64; 2] {
        [self.value - self.precision, self.value + self.precision]
    }
}

/// `α0`, in seconds.
pub(super) const STARTUP: Printed = Printed {
    value: 0.000_4,
    precision: 0.000_05,
};

/// `μ`, in seconds per megabyte of 10⁶ bytes.
pub(super) const RATE: Printed = Printed {
    value: 0.025,
    precision: 0.000_5,
};

/// `α1 = μ · b`.
pub(super) const OVERLAP: Printed = Printed {
    value: 2.23,
    precision: 0.005,
};

/// The ends of the figure: bytes of the state, and the cost in seconds.
pub(super) const ENDS: [(u64, Printed); 2] = [
    (
        415_000,
        Printed {
            value: 0.01,
            precision: 0.005,
        },
    ),
    (
        635_220_000,
        Printed {
            value: 15.46,
            precision: 0.005,
        },
    ),
];
