//! The median of measurements.

/// The median: the value in the middle, or the mean of the two there; `None` without values.
#[must_use]
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let upper = values.get(values.len() / 2)?;
    let lower = values.get(values.len().saturating_sub(1) / 2)?;
    Some(f64::midpoint(*lower, *upper))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_even_number_of_values_it_is_the_mean_of_the_two_in_the_middle() {
        let check = |values: &[f64], expected| assert_eq!(median(values.to_vec()), expected);
        check(&[], None);
        check(&[3.0], Some(3.0));
        check(&[4.0, 1.0], Some(2.5));
        check(&[9.0, 1.0, 4.0], Some(4.0));
        // Supersteps in ms before the first move of a run: 9.5 and 22.9 are in the middle.
        check(&[22.9, 5.1, 48.0, 9.5], Some(16.2));
        check(&[f64::MAX, f64::MAX], Some(f64::MAX));
    }
}
