//! The best pace of a run.

use model::median;

/// The seconds that a superstep takes where the run is fastest: the least median of five consecutive supersteps.
///
/// `starts` are the times when supersteps started, and the time when the run ended. `None`: there is no superstep.
pub(crate) fn best_pace(starts: &[f64]) -> Option<f64> {
    let lengths: Vec<f64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let windows = lengths.windows(WINDOW.min(lengths.len()).max(1));
    let medians = windows.filter_map(|window| median(window.to_vec()));
    medians.min_by(f64::total_cmp)
}

const WINDOW: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_pace_is_a_median_of_five_neighbours() {
        let starts = |lengths: &[f64]| {
            let mut now = 0.0;
            let mut starts = vec![now];
            starts.extend(lengths.iter().map(|length| {
                now += length;
                now
            }));
            starts
        };
        // One short superstep is no pace, and neither are short ones that are not consecutive.
        let lengths = [4.0, 1.0, 4.0, 4.0, 1.0, 4.0, 4.0, 3.0, 3.0, 3.0, 4.0];
        assert_eq!(best_pace(&starts(&lengths)), Some(3.0));
        assert_eq!(best_pace(&starts(&[2.0, 1.0])), Some(1.5));
        assert_eq!(best_pace(&[0.0]), None);
    }
}
