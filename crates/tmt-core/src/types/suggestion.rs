//! Suggestions for names and units that are not known.

/// The most similar name to `name`; `None` if none is similar.
#[must_use]
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = name.to_lowercase();
    let likeness = |known: &str| strsim::jaro_winkler(&lower, &known.to_lowercase());
    known
        .into_iter()
        .map(|known| (likeness(known), known))
        .filter(|(likeness, _)| *likeness > 0.6)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known)
}

/// The question whether the most similar one of `known` is meant, in parentheses after a space; empty if none is similar.
///
/// ```
/// use tmt_core::named::suggestion;
///
/// assert_eq!(suggestion("alhpa", ["alpha", "beta"]), " (did you mean 'alpha'?)");
/// assert_eq!(suggestion("rtt", ["alpha", "beta"]), "");
/// ```
#[must_use]
pub fn suggestion<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let nearest = nearest(name, known);
    question(nearest.filter(|nearest| *nearest != name))
}

/// The question whether `meant` is meant; empty without it.
pub(crate) fn question(meant: Option<&str>) -> String {
    meant.map_or_else(String::new, |meant| format!(" (did you mean '{meant}'?)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_suggested() {
        let known = ["alpha", "beta", "erasure_prob", "NR"];
        assert_eq!(nearest("alhpa", known), Some("alpha"));
        assert_eq!(nearest("nr", known), Some("NR"));
        assert_eq!(nearest("qqq", known), None);
    }

    #[test]
    fn a_name_is_not_suggested_for_itself() {
        assert_eq!(suggestion("alpha", ["alpha", "beta"]), "");
    }
}
