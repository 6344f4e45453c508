//! Numbers with their noun in the right form.

use std::fmt::Display;

use tmt_core::types::Span;

/// `count` and `noun`, with a plural "s" unless the count is 1: `1 LLDU`, `47 LLDUs`.
pub(super) fn counted(count: impl Display, noun: &str) -> String {
    let count = count.to_string();
    let plural = if count == "1" { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// A length of time for a sentence: exact up to 10 s, above in s with at most three decimals.
pub(super) fn lasting(length: Span) -> String {
    if length <= Span::from_secs(10) {
        return length.to_string();
    }
    let text = format!("{:.3}", length.as_secs_f64());
    format!("{}s", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use tmt_core::types::Span;

    use super::{counted, lasting};

    #[test]
    fn only_one_is_singular() {
        let texts = [0, 1, 2].map(|count| counted(count, "LLDU"));
        assert_eq!(texts, ["0 LLDUs", "1 LLDU", "2 LLDUs"]);
    }

    #[test]
    fn long_times_are_in_seconds() {
        let text = |nanos| lasting(Span::from_nanos(nanos).unwrap());
        assert_eq!(text(59_544_861_538), "59.545s");
        assert_eq!(text(100_000_000_000), "100s");
        assert_eq!(text(9_544_861_538), "9544.861538ms");
    }
}
