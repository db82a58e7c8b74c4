//! Mean and variance of what has been drawn, and how far to trust them.

/// Sums of powers of the differences from a number near the mean.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    near: f64,
    count: f64,
    powers: [f64; 4],
}

impl Measured {
    pub(crate) fn new(near: f64) -> Self {
        Self {
            near,
            count: 0.0,
            powers: [0.0; 4],
        }
    }

    pub(crate) fn add(&mut self, value: f64) {
        let difference = value - self.near;
        let mut power = 1.0;
        for sum in &mut self.powers {
            power *= difference;
            *sum += power;
        }
        self.count += 1.0;
    }

    /// Draws as many numbers as make the relative standard errors of mean and variance about those given.
    ///
    /// How many, numbers that are drawn before tell and are then left out: a sample that ends as soon as it looks
    /// precise misses what is rare.
    pub(crate) fn until(
        near: f64,
        mean_error: f64,
        variance_error: f64,
        mut draw: impl FnMut() -> f64,
    ) -> Self {
        let mut pilot = Self::new(near);
        while pilot.count <= 0.0
            || 2.0 * mean_error < pilot.mean_error()
            || 2.0 * variance_error < pilot.variance_error()
        {
            for _ in 0..BATCH {
                pilot.add(draw());
            }
        }
        let mut measured = Self::new(near);
        while measured.count < 4.0 * pilot.count {
            measured.add(draw());
        }
        measured
    }

    pub(crate) fn count(&self) -> f64 {
        self.count
    }

    pub(crate) fn mean(&self) -> f64 {
        self.near + self.moment(1)
    }

    pub(crate) fn variance(&self) -> f64 {
        self.moment(2) - self.moment(1).powi(2)
    }

    /// Standard error of the mean, as a part of it.
    pub(crate) fn mean_error(&self) -> f64 {
        (self.variance() / self.count).sqrt() / self.mean()
    }

    /// Standard error of the variance, as a part of it.
    pub(crate) fn variance_error(&self) -> f64 {
        let [m1, m2, m3, m4] = [1, 2, 3, 4].map(|power| self.moment(power));
        let fourth = m4 - 4.0 * m1 * m3 + 6.0 * m1 * m1 * m2 - 3.0 * m1.powi(4);
        ((fourth / self.variance().powi(2) - 1.0).max(0.0) / self.count).sqrt()
    }

    fn moment(&self, power: usize) -> f64 {
        self.powers[power - 1] / self.count
    }
}

const BATCH: u32 = 500;
