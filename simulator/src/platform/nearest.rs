//! Names that resemble a misspelt one.

/// The most similar of `known`, if any is similar enough to be meant.
pub(super) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let lower = name.to_lowercase();
    let limit = match name.chars().count() {
        0 | 1 => 0,
        length => (length / 3).max(1),
    };
    known
        .into_iter()
        .take(NEAREST_CANDIDATES_MAX)
        .map(|known| {
            let coarse = strsim::damerau_levenshtein(&lower, &known.to_lowercase());
            (coarse, strsim::damerau_levenshtein(name, known), known)
        })
        .filter(|(coarse, _, _)| *coarse <= limit)
        .min_by_key(|(coarse, fine, _)| (*coarse, *fine))
        .map(|(_, _, known)| known.to_owned())
}

/// The end of an error that suggests a name, if there is one.
pub(super) fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |nearest| {
        format!(", did you mean `{nearest}`?")
    })
}

/// Comparing names takes time; a platform may have hundreds of thousands.
const NEAREST_CANDIDATES_MAX: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_similar_names_are_suggested() {
        assert_eq!(
            nearest("speeed", ["core", "speed"]),
            Some("speed".to_owned())
        );
        assert_eq!(nearest("KBps", ["kbps", "kBps"]), Some("kBps".to_owned()));
        assert_eq!(nearest("colour", ["speed", "core"]), None);
    }
}
