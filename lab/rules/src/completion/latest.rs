//! The time until several tasks have ended.

use bsp::units::Seconds;

use super::completion_time::Completion;

/// Expected time until the last of several tasks ends that run on different hosts: `∫ (1 − Π F_k(t)) dt`.
///
/// Equation `COMPLETION` of `docs/model.md`. Integrated numerically, to a relative 3·10⁻⁴; no tasks take no time. Not
/// for decisions.
#[must_use]
pub fn latest(completions: &[Completion]) -> Seconds {
    let means = completions.iter().map(Completion::mean);
    let Some(longest_mean) = means.max().map(Seconds::get) else {
        return Seconds::ZERO;
    };
    let starts = completions.iter().map(|task| task.earliest().get());
    let certain = starts.clone().fold(0.0, f64::max);
    let tasks: Vec<_> = completions
        .iter()
        .zip(starts)
        .filter_map(|(task, start)| Some((certain - start, task.interruptions()?)))
        .collect();
    // Seconds after the latest start, as logarithms: both what is short and what is long gets its share of points.
    let shortest = NEGLIGIBLE * longest_mean;
    let first = libm::log(shortest);
    let longest_logs = tasks.iter().map(|(_, sum)| sum.longest_log());
    let last = longest_logs.fold(first, f64::max).min(LONGEST_LOG);
    let remaining = |log: f64| {
        let time = libm::exp(log);
        let ended = tasks
            .iter()
            .map(|(earlier, sum)| libm::log1p(-sum.survival(earlier + time)));
        -libm::expm1(ended.sum::<f64>()) * time
    };
    let panels = ((last - first) / PANEL).ceil().max(0.0);
    let mut sum = certain;
    let mut number = 0.0;
    while number < panels {
        let edge = |number: f64| first + (last - first) * number / panels;
        let panel = Panel::new(&remaining, edge(number), edge(number + 1.0));
        sum += panel.integral(&remaining, ERROR * longest_mean, (HALVINGS_MAX, false));
        number += 1.0;
    }
    Seconds::bounded(sum)
}

/// A part of the axis and the function at its ends and middle.
struct Panel {
    from: f64,
    to: f64,
    values: [f64; 3],
}

impl Panel {
    fn new(function: &impl Fn(f64) -> f64, from: f64, to: f64) -> Self {
        let middle = from + (to - from) / 2.0;
        Self {
            from,
            to,
            values: [from, middle, to].map(function),
        }
    }

    /// Integral by the adaptive Simpson rule, with an error of about `error`, after at most this number of `halvings`.
    ///
    /// Two levels have to agree one after the other: where the function is steep, one may agree by chance. `agrees` says
    /// whether the level above has.
    fn integral(
        &self,
        function: &impl Fn(f64) -> f64,
        error: f64,
        (halvings, agrees): (u32, bool),
    ) -> f64 {
        let halves = self.halves(function);
        let fine: f64 = halves.iter().map(Self::simpson).sum();
        let is_close = (fine - self.simpson()).abs() <= error;
        if halvings == 0 || is_close && agrees {
            return fine;
        }
        let integral = |half: &Self| half.integral(function, error, (halvings - 1, is_close));
        halves.iter().map(integral).sum()
    }

    fn simpson(&self) -> f64 {
        let [first, middle, last] = self.values;
        (self.to - self.from) / 6.0 * (first + 4.0 * middle + last)
    }

    fn halves(&self, function: &impl Fn(f64) -> f64) -> [Self; 2] {
        let [first, middle, last] = self.values;
        let at = self.from + (self.to - self.from) / 2.0;
        let between = |from: f64, to: f64| function(from + (to - from) / 2.0);
        [
            Self {
                from: self.from,
                to: at,
                values: [first, between(self.from, at), middle],
            },
            Self {
                from: at,
                to: self.to,
                values: [middle, between(at, self.to), last],
            },
        ]
    }
}

/// Part of the longest mean below which times are not resolved.
const NEGLIGIBLE: f64 = 1e-7;

/// Part of the longest mean that one panel may be wrong by.
const ERROR: f64 = 1e-7;

/// Widest panel of the logarithmic axis.
const PANEL: f64 = 0.5;

/// The narrowest distributions are a millionth wide.
const HALVINGS_MAX: u32 = 30;

/// Logarithm of the longest time that counts, 10³⁰ s.
const LONGEST_LOG: f64 = 69.077_552_789_821_37;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::owner_jobs::OwnerJobs;
    use super::*;

    fn task(dedicated: f64, utilisation: f64, variation: f64) -> Completion {
        let seconds = |value: f64| Seconds::new(value).unwrap();
        let jobs = OwnerJobs::new(utilisation, seconds(1.0), seconds(variation)).unwrap();
        Completion::new(seconds(dedicated), &jobs)
    }

    fn close(value: f64, expected: f64, error: f64) {
        assert!(
            (value / expected - 1.0).abs() <= error,
            "{value}, not {expected}"
        );
    }

    #[test]
    fn no_tasks_take_no_time() {
        assert_eq!(latest(&[]), Seconds::ZERO);
        assert_eq!(latest(&[task(0.0, 0.5, 1.0); 3]), Seconds::ZERO);
    }

    #[test]
    fn without_jobs_the_longest_task_is_the_last() {
        close(
            latest(&[1.0, 7.0, 3.0].map(|time| task(time, 0.0, 1.0))).get(),
            7.0,
            1e-6,
        );
    }

    /// One interruption at most, by jobs of an exponential time: `1 − Π F` can be integrated by hand.
    #[test]
    fn of_rare_exponential_interruptions_the_value_is_known() {
        let (dedicated, utilisation) = (1.0, 1e-6);
        // To first order in λ the probabilities of interruptions add, and each lasts 1 s in the mean.
        let tasks = [task(dedicated, utilisation, 1.0); 3];
        let added = latest(&tasks).get() - dedicated;
        close(added, 3.0 * utilisation, 0.2);
    }

    /// The last of `n` equal numbers with a narrow distribution around 10: a normal one, to 10⁻³ of its deviation.
    #[test]
    fn of_long_tasks_the_last_is_as_of_normal_numbers() {
        let tasks = [task(1e7, 0.5, 1.0); 4];
        let deviation = libm::sqrt(tasks[0].variance());
        let last = (latest(&tasks).get() - tasks[0].mean().get()) / deviation;
        // E[max] of four standard normal numbers.
        close(last, 1.029_375, 0.02);
    }

    proptest! {
        #[test]
        fn the_last_of_one_task_ends_at_its_mean(
            dedicated in 1e-6..1e9_f64, utilisation in 0.0..0.95_f64, variation in 0.0..20.0_f64,
        ) {
            let task = task(dedicated, utilisation, variation);
            close(latest(&[task]).get(), task.mean().get(), 3e-4);
            close(latest(&[task.with_busy_start()]).get(), task.with_busy_start().mean().get(), 3e-4);
        }

        #[test]
        fn the_last_ends_between_the_longest_mean_and_the_sum_of_means(
            numbers in prop::collection::vec((1e-3..1e4_f64, 0.0..0.95_f64, 0.0..6.0_f64), 1..12),
        ) {
            let tasks: Vec<_> = numbers.iter().map(|&(d, utilisation, variation)| task(d, utilisation, variation)).collect();
            let last = latest(&tasks).get();
            let means = tasks.iter().map(|task| task.mean().get());
            let longest = means.clone().fold(0.0, f64::max);
            prop_assert!(longest * (1.0 - 3e-4) <= last, "{last} before {longest}");
            prop_assert!(last <= means.sum::<f64>() * (1.0 + 3e-4), "{last}");
            let more: Vec<_> = tasks.iter().chain(&tasks).copied().collect();
            prop_assert!(last * (1.0 - 3e-4) <= latest(&more).get());
        }

        #[test]
        fn any_numbers_give_a_finite_time(
            numbers in prop::collection::vec((any::<f64>(), 0.0..1.0_f64, any::<f64>(), any::<f64>()), 0..5),
        ) {
            let time = |value: f64| Seconds::new(value).unwrap_or_default();
            let tasks: Vec<_> = numbers.iter().filter_map(|&(d, utilisation, mean, deviation)| {
                let jobs = OwnerJobs::new(utilisation, time(mean), time(deviation)).ok()?;
                Some(Completion::new(time(d), &jobs).with_busy_start())
            }).collect();
            prop_assert!(Seconds::ZERO <= latest(&tasks));
        }
    }
}
