//! Suggestions for names that are not known.

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
}
