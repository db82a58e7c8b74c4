//! Values separated by commas, where brackets and quotes may have commas inside.

/// The items of `text`, without the spaces around them. A comma separates items unless it is inside `[…]`, `{…}`, or
/// a string in quotes.
///
/// # Errors
///
/// If a bracket or a quote is not closed.
pub(super) fn items(text: &str) -> Result<Vec<&str>, String> {
    let (mut items, mut begin) = (Vec::new(), 0);
    let mut open: Vec<(usize, char)> = Vec::new();
    let mut quote: Option<(usize, char)> = None;
    let mut is_escaped = false;
    for (at, character) in text.char_indices() {
        if let Some((_, mark)) = quote {
            let is_end = character == mark && !is_escaped;
            is_escaped = mark == '"' && character == '\\' && !is_escaped;
            if is_end {
                quote = None;
            }
            continue;
        }
        match character {
            // A quote inside a bare word is a character like any other.
            '"' | '\'' if !open.is_empty() || text[begin..at].trim().is_empty() => {
                quote = Some((at, character));
            }
            '[' | '{' => open.push((at, character)),
            ']' | '}' => drop(open.pop()),
            ',' if open.is_empty() => {
                items.push(text[begin..at].trim());
                begin = at + 1;
            }
            _ => {}
        }
    }
    if let Some((at, mark)) = quote.or_else(|| open.pop()) {
        let item = text[at..].trim();
        return Err(format!("`{mark}` in `{item}` is not closed"));
    }
    items.push(text[begin..].trim());
    Ok(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_inside_brackets_and_quotes_separate_nothing() {
        let check = |text: &str, expected: &[&str]| assert_eq!(items(text).unwrap(), expected);
        check("2,4, 8 ", &["2", "4", "8"]);
        check("1 s", &["1 s"]);
        check("[1, 2],[3, [4, 5]]", &["[1, 2]", "[3, [4, 5]]"]);
        check(
            "{ kind = \"noise\", jitter = 0.3 },{ kind = \"drift\" }",
            &["{ kind = \"noise\", jitter = 0.3 }", "{ kind = \"drift\" }"],
        );
        check("\"a,b\",'c,d'", &["\"a,b\"", "'c,d'"]);
        check(r#""a\",b",c"#, &[r#""a\",b""#, "c"]);
        check(r"'\',b", &[r"'\'", "b"]);
        check("don't,\"[\",]", &["don't", "\"[\"", "]"]);
        check("", &[""]);
        check("1,,2,", &["1", "", "2", ""]);
    }

    #[test]
    fn what_is_opened_has_to_be_closed() {
        let fault = |text: &str| items(text).unwrap_err();
        assert_eq!(fault("1,[2, 3"), "`[` in `[2, 3` is not closed");
        assert_eq!(fault("{a = [1], b"), "`{` in `{a = [1], b` is not closed");
        assert_eq!(fault("\"a,b"), "`\"` in `\"a,b` is not closed");
    }
}
