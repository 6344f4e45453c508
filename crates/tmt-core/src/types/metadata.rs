//! The head and the end line of a text trace (link-layer.md §8): how stages tell each other what
//! they did, and how a reader knows that nothing is missing.

use crate::types::decimal::MAX;
use crate::types::{BitRate, Bytes, Error, ErrorKind, Position, Result, Span, Time};

/// Keys whose value is a whole number, with the words that say so.
const WHOLE_NUMBERS: [&str; 7] = [
    "seed",
    "rate_bps",
    "lldu_bytes",
    "rtt_ns",
    "interleaver_ns",
    "feedback_delay_ns",
    "propagation_removed_ns",
];

/// Keys that stand once beside these; any other line `# key: value` may be somebody's note.
const TEXTS: [&str; 3] = ["tool", "command", "scheme"];

/// The lines `# key: value` in front of a trace, in the order in which they stand.
///
/// An empty one stands for a trace without a head.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Metadata {
    entries: Vec<(String, String)>,
}

impl Metadata {
    /// A head with no line yet; it is not written before a `tool` is set.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            entries: Vec::new(),
        }
    }

    /// Whether there is a head: only one with a `tool` line is.
    #[must_use]
    pub fn is_head(&self) -> bool {
        self.get("tool").is_some()
    }

    /// All lines in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.entries
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// The value of `key`, the first where it stands more than once.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        let found = self.iter().find(|(k, _)| *k == key);
        found.map(|(_, value)| value)
    }

    /// The whole number that `key` holds.
    #[must_use]
    pub fn number(&self, key: &str) -> Option<u64> {
        self.get(key).and_then(|value| value.parse().ok())
    }

    /// Round-trip time of the link, `rtt_ns`.
    #[must_use]
    pub fn rtt(&self) -> Option<Span> {
        self.number("rtt_ns").and_then(Span::from_nanos)
    }

    /// Depth of the physical-layer interleaver, `interleaver_ns`.
    #[must_use]
    pub fn interleaver(&self) -> Option<Span> {
        self.number("interleaver_ns").and_then(Span::from_nanos)
    }

    /// Rate of the slots, header included, `rate_bps`.
    #[must_use]
    pub fn rate(&self) -> Option<BitRate> {
        self.number("rate_bps").map(BitRate)
    }

    /// Size of an LLDU, header included, `lldu_bytes`.
    #[must_use]
    pub fn lldu_bytes(&self) -> Option<Bytes> {
        self.number("lldu_bytes").map(Bytes)
    }

    /// Sets `key`, in its old place where it had one.
    pub fn set(&mut self, key: &str, value: impl Into<String>) {
        let value = one_line(&value.into());
        match self.entries.iter_mut().find(|(k, _)| k == key) {
            Some((_, old)) => *old = value,
            None => self.entries.push((key.to_owned(), value)),
        }
    }

    /// Adds a line `key`, beside any it already has.
    pub fn push(&mut self, key: &str, value: impl Into<String>) {
        self.entries.push((key.to_owned(), one_line(&value.into())));
    }

    /// Takes `key` out.
    pub fn remove(&mut self, key: &str) {
        self.entries.retain(|(k, _)| k != key);
    }

    /// Whether a line of the head may begin with this.
    pub(crate) fn is_key(key: &str) -> bool {
        let belongs = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        !key.is_empty() && key.bytes().all(belongs)
    }

    /// Takes in one comment line of the head, without its `#`; what is no `key: value` is left out.
    ///
    /// Whether it was taken.
    pub(crate) fn read_line(&mut self, comment: &str) -> bool {
        if let Some((key, value)) = comment.trim().split_once(':')
            && Self::is_key(key)
        {
            self.entries.push((key.to_owned(), value.trim().to_owned()));
            return true;
        }
        false
    }

    /// Checks what the entries say; called only where there is a head, with the line of each.
    ///
    /// # Errors
    /// A key that stands twice, or a number that is none.
    pub(crate) fn check(&self, lines: &[u64]) -> Result<()> {
        for (at, (key, value)) in self.entries.iter().enumerate() {
            let is_number = WHOLE_NUMBERS.contains(&key.as_str());
            let once = is_number || TEXTS.contains(&key.as_str());
            let position = Position::of_line(lines.get(at).copied().unwrap_or(0), 1);
            let expected = if once && self.entries[..at].iter().any(|(k, _)| k == key) {
                "each key of the head once"
            } else if is_number && !value.parse().is_ok_and(|number: u64| number <= MAX) {
                "a whole number from 0 to 2^63 - 1"
            } else if matches!(key.as_str(), "rate_bps" | "lldu_bytes")
                && self.number(key) == Some(0)
            {
                "more than zero"
            } else {
                continue;
            };
            let kind = ErrorKind::Metadata {
                key: key.clone(),
                found: value.clone(),
                expected,
            };
            return Err(Error::at(kind, position));
        }
        Ok(())
    }
}

/// A value is one line; a line break in a command's argument must not start a line of its own.
fn one_line(value: &str) -> String {
    value.replace(['\n', '\r'], " ")
}

/// The line that says a trace is whole.
#[derive(Debug, derive_more::Display, Clone, Copy, PartialEq, Eq)]
#[display("rows={rows} slots={slots} usable_until_ns={}", usable_until.as_nanos())]
pub struct EndLine {
    /// Data rows.
    pub rows: u64,
    /// Slots of the physical layer the rows were made of; equal to `rows` in a PHY trace.
    pub slots: u64,
    /// Time of the first censored LLDU, or of the last slot: a run over the rows ends here.
    pub usable_until: Time,
}

impl EndLine {
    /// Reads the text behind `# end:`; `None` where it is not whole.
    pub(crate) const FORM: &str = "rows=N slots=M usable_until_ns=T";

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split_ascii_whitespace();
        let mut number = |name: &str| {
            parts
                .next()?
                .strip_prefix(name)?
                .strip_prefix('=')?
                .parse::<u64>()
                .ok()
        };
        let end = Self {
            rows: number("rows")?,
            slots: number("slots")?,
            usable_until: Time::from_nanos(number("usable_until_ns")?)?,
        };
        parts.next().is_none().then_some(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_line_reads_back_what_it_writes() {
        let end = EndLine {
            rows: 3,
            slots: 4,
            usable_until: Time::from_nanos(17).unwrap(),
        };
        assert_eq!(EndLine::parse(&end.to_string()), Some(end));
    }

    #[test]
    fn half_an_end_line_is_none() {
        for text in [
            "",
            "rows=3",
            "rows=3 slots=4",
            "rows=3 slots=4 usable_until_ns=",
            "rows=3 slots=4 usable_until_ns=1 x",
        ] {
            assert_eq!(EndLine::parse(text), None, "{text}");
        }
    }

    #[test]
    fn only_a_tool_line_makes_a_head() {
        let mut head = Metadata::new();
        head.read_line(" rtt_ns: 5");
        assert!(!head.is_head());
        head.read_line(" tool: tmt 0.1.0");
        assert!(head.is_head());
        assert_eq!(head.rtt(), Span::from_nanos(5));
    }

    #[test]
    fn a_comment_that_is_no_key_and_value_is_left_out() {
        let mut head = Metadata::new();
        head.read_line(" measured in Livorno: rain");
        head.read_line(" no colon");
        assert_eq!(head.iter().count(), 0);
    }

    #[test]
    fn a_key_that_stands_twice_and_a_number_that_is_none_are_refused() {
        for lines in [
            &["rtt_ns: 1", "rtt_ns: 2"][..],
            &["rtt_ns: soon"],
            &["rate_bps: -1"],
            &["lldu_bytes: 0"],
        ] {
            let mut head = Metadata::new();
            for line in lines {
                head.read_line(line);
            }
            assert!(head.check(&[]).is_err(), "{lines:?}");
        }
        let mut head = Metadata::new();
        head.read_line("stage: a");
        head.read_line("stage: b");
        assert!(head.check(&[]).is_ok());
    }
}
