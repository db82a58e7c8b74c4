//! Numbers, counts and tables as text.

use comfy_table::CellAlignment;

/// `number` with so many `decimals`, or with an exponent if that would show too little or too much.
pub(crate) fn rounded(number: f64, decimals: u8) -> String {
    let size = number.abs();
    let least = 10_f64.powi(1 - i32::from(decimals)).min(0.1);
    if size == 0.0 || (least..1e9).contains(&size) {
        format!("{number:.*}", usize::from(decimals))
    } else {
        format!("{number:.*e}", usize::from(decimals))
    }
}

/// `number` of what is called `name`.
pub(crate) fn counted(number: usize, name: &str) -> String {
    match (number, name.ends_with('s')) {
        (1, _) => format!("1 {name}"),
        (_, true) => format!("{number} {name}es"),
        (_, false) => format!("{number} {name}s"),
    }
}

/// `headers` and `rows` as a table for people, without lines that a copy would carry along; numbers
/// stand to the right.
pub(crate) fn table(headers: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(headers);
    let mut numeric = vec![true; headers.len()];
    for row in rows {
        for (numeric, cell) in numeric.iter_mut().zip(&row) {
            let number = cell.trim_start_matches(['+', '-']);
            *numeric &=
                number.is_empty() || number.starts_with(|first: char| first.is_ascii_digit());
        }
        table.add_row(row);
    }
    for (column, numeric) in table.column_iter_mut().zip(numeric) {
        if numeric {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let text = table.to_string();
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_numbers_stay_readable() {
        assert_eq!(rounded(0.0, 3), "0.000");
        assert_eq!(rounded(0.018_49, 3), "0.018");
        assert_eq!(rounded(-678.476_4, 3), "-678.476");
        assert_eq!(rounded(0.000_123_4, 3), "1.234e-4");
        assert_eq!(rounded(0.9, 1), "0.9");
        assert_eq!(rounded(5_155_463_917_530.8, 3), "5.155e12");
    }

    #[test]
    fn numbers_stand_to_the_right_and_words_to_the_left() {
        let rows = [["a-1", "1", "+5 %"], ["b", "100", ""]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec());
        let expected = " host    n  share\n a-1     1   +5 %\n b     100\n";
        assert_eq!(table(&["host", "n", "share"], rows), expected);
    }
}
