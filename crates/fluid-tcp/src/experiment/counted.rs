//! Numbers with their noun in the right form.

use std::fmt::Display;

/// `count` and `noun`, with a plural "s" unless the count is 1: `1 LLDU`, `47 LLDUs`.
pub(super) fn counted(count: impl Display, noun: &str) -> String {
    let count = count.to_string();
    let plural = if count == "1" { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn only_one_is_singular() {
        let texts = [0, 1, 2].map(|count| counted(count, "LLDU"));
        assert_eq!(texts, ["0 LLDUs", "1 LLDU", "2 LLDUs"]);
    }
}
