//! What rescheduling saved of what it could have saved.

use crate::text::{rounded, significant};

/// The gain of a run that took `moving` seconds where scenario i takes `alone`; the best mapping of every superstep would have
/// saved `could` seconds of computing.
pub(crate) fn sentence(alone: f64, moving: f64, could: f64) -> String {
    let won = significant(alone - moving, alone);
    let could = significant(could, alone);
    let percent = |part: f64, whole: f64| format!("{:.1} %", part / whole * 100.0);
    let best = "the best mapping of every superstep would have saved";
    let (seconds, saved) = (rounded(won.abs(), 3), rounded(could, 3));
    let possible = if 0.0 < could {
        format!("{best} {saved} s of computing")
    } else {
        "no mapping computes faster".to_owned()
    };
    if won < 0.0 && alone == 0.0 {
        format!("Rescheduling lost {seconds} s; {possible}.")
    } else if won < 0.0 {
        let share = percent(-won, alone);
        format!("Rescheduling lost {seconds} s ({share}); {possible}.")
    } else if won == 0.0 {
        format!("Rescheduling saved nothing; {possible}.")
    } else if won <= could {
        let share = percent(won, could);
        format!(
            "Rescheduling saved {seconds} s: {share} of the {saved} s of computing that {best}."
        )
    } else if 0.0 < could {
        let rest = "the rest is communication";
        format!("Rescheduling saved {seconds} s; {possible}, and {rest}.")
    } else {
        let all = "the saving is communication";
        format!("Rescheduling saved {seconds} s; no mapping computes faster: {all}.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_part_is_of_a_makespan_of_nothing() {
        let lost = "Rescheduling lost 1.000 s; no mapping computes faster.";
        assert_eq!(sentence(0.0, 1.0, 0.0), lost);
        let nothing = "Rescheduling saved nothing; no mapping computes faster.";
        assert_eq!(sentence(0.0, 0.0, 0.0), nothing);
        let part = "Rescheduling lost 1.000 s (50.0 %); no mapping computes faster.";
        assert_eq!(sentence(2.0, 3.0, 0.0), part);
    }
}
