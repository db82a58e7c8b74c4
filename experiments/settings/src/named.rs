//! `NAME[:KEY=VALUE,...]`: something by its name, and the parameters it is to have.

/// A name and parameters, as they were written without the spaces around them.
///
/// Invariant: no key or value is empty, and no key is duplicated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named<'a> {
    /// The name.
    pub name: &'a str,
    /// Keys and values, in the order they were written.
    pub parameters: Vec<(&'a str, &'a str)>,
}

impl<'a> Named<'a> {
    /// Reads `text`; `example` is a valid one for messages.
    ///
    /// # Errors
    ///
    /// If a parameter is not `KEY=VALUE`, or a key is duplicated.
    pub fn read(text: &'a str, example: &str) -> Result<Self, String> {
        let (name, list) = match text.split_once(':') {
            None => (text, None),
            Some((name, list)) => (name, Some(list)),
        };
        let mut parameters: Vec<(&str, &str)> = Vec::new();
        for parameter in list.into_iter().flat_map(|list| list.split(',')) {
            let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let (key, value) = (key.trim(), value.trim());
            if key.is_empty() || value.is_empty() {
                let met = parameter.trim();
                return Err(format!(
                    "invalid parameter `{met}`: must be KEY=VALUE, as in {example}"
                ));
            }
            if let Some((_, first)) = parameters.iter().find(|(other, _)| *other == key) {
                return Err(format!("{key}: given twice, as `{first}` and as `{value}`"));
            }
            parameters.push((key, value));
        }
        let name = name.trim();
        Ok(Self { name, parameters })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_have_parameters() {
        let read = |text| Named::read(text, "x:y=1").unwrap();
        assert_eq!((read(" a ").name, read("a").parameters.len()), ("a", 0));
        let named = read("a : b = 1,c=x=y ");
        assert_eq!(named.name, "a");
        assert_eq!(named.parameters, [("b", "1"), ("c", "x=y")]);
    }

    #[test]
    fn malformed_and_duplicate_parameters_are_refused() {
        let fault = |text| Named::read(text, "x:y=1").unwrap_err();
        for text in ["a:", "a:b", "a:b=", "a:=1", "a:b=1,", "a:,b=1"] {
            let fault = fault(text);
            assert!(fault.ends_with("must be KEY=VALUE, as in x:y=1"), "{fault}");
        }
        let twice = "b: given twice, as `1` and as `2`";
        assert_eq!(fault("a:b=1,c=3, b =2"), twice);
    }
}
