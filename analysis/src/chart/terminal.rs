//! Bars made of characters.

use crate::text::{Layout, rounded};

/// One line for each row: its name, its bar, its value. All bars together are `width` characters
/// wide, or fewer where lines are short, and exact to an eighth of one; those of negative values run to the
/// left of zero.
pub fn text_bars(rows: &[(String, f64)], width: usize, layout: Layout) -> String {
    let values = || {
        rows.iter()
            .map(|(_, value)| *value)
            .filter(|value| value.is_finite())
    };
    let low = values().fold(0.0, f64::min);
    let high = values().fold(0.0, f64::max);
    let name_width = rows.iter().map(|(name, _)| name.chars().count()).max();
    let name_width = name_width.unwrap_or(0);
    let numbers: Vec<String> = rows.iter().map(|(_, value)| rounded(*value, 4)).collect();
    let number_width = numbers.iter().map(String::len).max().unwrap_or(0);
    // Five spaces, the axis, and one character that rounding on both sides of it may add.
    let beside = name_width + number_width + 7;
    let width = layout
        .width
        .map_or(width, |line| line.saturating_sub(beside).clamp(1, width));
    let eighths = eighths_of(width, high - low);
    let left = characters(eighths(-low));
    let right = characters(eighths(high));
    let mut text = String::new();
    for ((name, value), number) in rows.iter().zip(numbers) {
        let (before, after) = if *value < 0.0 {
            (leftwards(eighths(-value)), String::new())
        } else {
            (String::new(), rightwards(eighths(*value)))
        };
        let line = format!(
            " {name:name_width$}  {number:>number_width$}  {before:>left$}│{after:<right$}"
        );
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Length in eighths of a character, if `span` is `width` characters.
fn eighths_of(width: usize, span: f64) -> impl Fn(f64) -> usize {
    let width = u16::try_from(width).unwrap_or(u16::MAX);
    let scale = if 0.0 < span {
        f64::from(width) * 8.0 / span
    } else {
        0.0
    };
    move |length: f64| {
        let least = if 0.0 < length { 1.0 } else { 0.0 };
        let eighths = (length * scale)
            .round()
            .max(least)
            .min(f64::from(width) * 8.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a whole number, clamped to what eight times 16 bits hold"
        )]
        let eighths = eighths as usize;
        eighths
    }
}

/// Number of characters that `eighths` take.
fn characters(eighths: usize) -> usize {
    eighths.div_ceil(8)
}

fn rightwards(eighths: usize) -> String {
    let mut bar = "█".repeat(eighths / 8);
    bar.push_str(["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8]);
    bar
}

/// A bar whose right end is flush. There are few blocks that are filled from the right: half of one
/// is the finest.
fn leftwards(eighths: usize) -> String {
    let (full, rest) = (eighths / 8, eighths % 8);
    let head = match rest {
        0 => "",
        1..=4 => "▐",
        _ => "█",
    };
    head.to_owned() + &"█".repeat(full)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[(&str, f64)]) -> Vec<(String, f64)> {
        let row = |(name, value): &(&str, f64)| ((*name).to_owned(), *value);
        rows.iter().map(row).collect()
    }

    #[test]
    fn bars_grow_to_the_right_and_losses_to_the_left() {
        let rows = rows(&[("Comp", 0.75), ("Comm", 0.0), ("Mem", -0.25), ("PM", 0.3)]);
        let expected = " \
Comp   0.7500    │██████
 Comm   0.0000    │
 Mem   -0.2500  ██│
 PM     0.3000    │██▍
";
        assert_eq!(text_bars(&rows, 8, Layout::default()), expected);
    }

    #[test]
    fn a_nonzero_value_draws_at_least_one_eighth() {
        let rows = rows(&[("much", 1e6), ("little", 1e-3), ("least", -1e-3)]);
        let text = text_bars(&rows, 10, Layout::default());
        let bars: Vec<&str> = text
            .lines()
            .filter_map(|line| line.split("  ").last())
            .collect();
        assert_eq!(bars, [" │██████████", " │▏", "▐│"]);
    }

    #[test]
    fn bars_end_where_lines_do() {
        let rows = rows(&[("a long name", 0.7), ("b", -0.3)]);
        for width in [26, 30, 40] {
            let layout = Layout {
                width: Some(width),
                is_whole: false,
            };
            let text = text_bars(&rows, 48, layout);
            let longest = text.lines().map(|line| line.chars().count()).max();
            assert!(longest.is_some_and(|longest| longest <= width), "{text}");
            assert!(text.contains('█') || width == 26, "{text}");
        }
    }

    #[test]
    fn numbers_that_are_none_have_no_bar() {
        let text = text_bars(&rows(&[("a", f64::NAN), ("b", 0.0)]), 10, Layout::default());
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(!text.contains('█'), "{text}");
        assert_eq!(text_bars(&[], 10, Layout::default()), "");
    }
}
