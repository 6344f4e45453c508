//! The metadata of a trace and its end line (docs/trace-format.md, Sec. 4 and 5).
//!
//! Each stage records in the metadata what it did. The end line shows a reader that no row is missing.

use std::fmt::Display;

use crate::types::decimal::MAX;
use crate::types::{
    BitRate, Bytes, Error, ErrorKind, Position, Result, Span, Time, TraceKind, to_f64,
};

/// Keys whose value is a whole number.
const WHOLE_NUMBERS: [&str; 9] = [
    "seed",
    "rate_bps",
    "lldu_bytes",
    "lldu_header_bytes",
    "rtt_ns",
    "interleaver_ns",
    "feedback_delay_ns",
    "propagation_removed_ns",
    DECODE_DELAY_MEDIAN,
];

/// Slots per second from which a timeline was made, where rate and LLDU do not give them.
const SLOTS_PER_S: &str = "slots_per_s";

/// Median decoding delay of the slots from which a timeline was made.
const DECODE_DELAY_MEDIAN: &str = "decode_delay_median_ns";

/// Further keys that may occur only once. Any other line `# key: value` may be a note of the user.
const TEXTS: [&str; 5] = ["tool", "command", "scheme", "packing", TraceKind::KEY];

/// Values of `packing`: whether packets begin LLDUs of their own or share their bytes (docs/simulator.md, Sec. 2.1).
const PACKINGS: [&str; 2] = ["packet", "bytes"];

/// Warning about a trace of probes that is used as a link.
const PROBES: &str = "the trace holds probes, which sample delay and loss: its rate is that of the probes, not the capacity of the link; fit the channel with `tmt fit TRACE`, and use it at the real rate of the link: `tmt synth --rate RATE --lldu SIZE --duration TIME --decode-delay DELAY | tmt inject --channel CHANNEL`";

/// The `# key: value` lines at the start of a trace, in file order; empty for a trace without a head.
///
/// ```
/// use tmt_core::Span;
/// use tmt_core::types::Metadata;
///
/// let mut head = Metadata::new();
/// head.set("tool", "my-receiver 1.0");
/// head.set("rtt_ns", Span::from_millis(500).as_nanos().to_string());
/// assert!(head.is_head());
/// assert_eq!(head.rtt(), Some(Span::from_millis(500)));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Metadata {
    entries: Vec<(String, String)>,
}

impl Metadata {
    /// Metadata without entries. They are not written as a head unless `tool` is set.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            entries: Vec::new(),
        }
    }

    /// Whether the entries form a head, which they do if one of them is `tool`.
    #[must_use]
    pub fn is_head(&self) -> bool {
        self.get("tool").is_some()
    }

    /// The head of a trace that was read, or a new one of `tool` if it has none, with what was given of the link: what a later
    /// stage would otherwise have to assume.
    ///
    /// # Errors
    /// A value given that the head contradicts, with its key in backticks.
    pub fn begun(
        &self,
        tool: &str,
        rate: Option<BitRate>,
        lldu: Option<Bytes>,
    ) -> Result<Self, String> {
        let mut head = self.clone();
        if !self.is_head() {
            head = Self::new();
            head.set("tool", tool);
            if let Some(kind) = self.get(TraceKind::KEY) {
                head.set(TraceKind::KEY, kind);
            }
        }
        agree("rate", "rate_bps", rate, head.rate())?;
        agree("lldu", "lldu_bytes", lldu, head.lldu_bytes())?;
        if let Some(rate) = rate {
            head.set("rate_bps", rate.0.to_string());
        }
        if let Some(lldu) = lldu {
            head.set("lldu_bytes", lldu.0.to_string());
        }
        Ok(head)
    }

    /// The meaningful part of comments without a head: `trace_kind`, so that one line in a table made by hand is enough; all
    /// other keys have no meaning.
    pub(crate) fn of_table(&self) -> Self {
        let mut table = Self::new();
        let kind = self.get(TraceKind::KEY);
        if let Some(kind) = kind.filter(|kind| kind.parse::<TraceKind>().is_ok()) {
            table.set(TraceKind::KEY, kind);
        }
        table
    }

    /// All entries, as key and value, in file order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.entries
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// The value of `key`; the first one if the key occurs more than once.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        let found = self.iter().find(|(k, _)| *k == key);
        found.map(|(_, value)| value)
    }

    /// The value of `key` as a whole number; `None` if the key is missing or its value is not one.
    #[must_use]
    pub fn number(&self, key: &str) -> Option<u64> {
        self.get(key).and_then(|value| value.parse().ok())
    }

    /// RTT of the link, from `rtt_ns`.
    #[must_use]
    pub fn rtt(&self) -> Option<Span> {
        self.number("rtt_ns").and_then(Span::from_nanos)
    }

    /// Delay of the physical-layer interleaver, from `interleaver_ns`.
    #[must_use]
    pub fn interleaver(&self) -> Option<Span> {
        self.number("interleaver_ns").and_then(Span::from_nanos)
    }

    /// Median decoding delay of the slots from which a timeline was made, from `decode_delay_median_ns`.
    #[must_use]
    pub fn decode_delay_median(&self) -> Option<Span> {
        self.number(DECODE_DELAY_MEDIAN).and_then(Span::from_nanos)
    }

    /// Sets or removes `decode_delay_median_ns`.
    pub fn set_decode_delay_median(&mut self, median: Option<Span>) {
        match median {
            Some(median) => self.set(DECODE_DELAY_MEDIAN, median.as_nanos().to_string()),
            None => self.remove(DECODE_DELAY_MEDIAN),
        }
    }

    /// Slots per second: by `rate_bps` and `lldu_bytes`, else from `slots_per_s`.
    #[must_use]
    pub fn slots_per_s(&self) -> Option<f64> {
        if let Some((rate, lldu)) = self.rate().zip(self.lldu_bytes()) {
            return Some(to_f64(rate.0) / (8.0 * to_f64(lldu.0)));
        }
        let known: Option<f64> = self.get(SLOTS_PER_S)?.parse().ok();
        known.filter(|rate| *rate > 0.0 && rate.is_finite())
    }

    /// Sets or removes `slots_per_s`. It is removed if rate and LLDU give the slots, too.
    pub fn set_slots_per_s(&mut self, measured: Option<f64>) {
        let is_nominal = self.rate().and(self.lldu_bytes()).is_some();
        match measured.filter(|_| !is_nominal) {
            Some(rate) => self.set(SLOTS_PER_S, rate.to_string()),
            None => self.remove(SLOTS_PER_S),
        }
    }

    /// Rate of the slots, LLDU headers included, from `rate_bps`.
    #[must_use]
    pub fn rate(&self) -> Option<BitRate> {
        self.number("rate_bps").map(BitRate)
    }

    /// Size of an LLDU, header included, from `lldu_bytes`.
    #[must_use]
    pub fn lldu_bytes(&self) -> Option<Bytes> {
        self.number("lldu_bytes").map(Bytes)
    }

    /// Header of an LLDU, part of its size, from `lldu_header_bytes`.
    #[must_use]
    pub fn lldu_header_bytes(&self) -> Option<Bytes> {
        self.number("lldu_header_bytes").map(Bytes)
    }

    /// Kind of the rows, from `trace_kind`; `None` if the head does not say, which is treated as capacity.
    #[must_use]
    pub fn trace_kind(&self) -> Option<TraceKind> {
        self.get(TraceKind::KEY)?.parse().ok()
    }

    /// Warning about a trace of probes that is used as a link; `None` for any other trace.
    #[must_use]
    pub fn probe_warning(&self) -> Option<&'static str> {
        (self.trace_kind() == Some(TraceKind::Probe)).then_some(PROBES)
    }

    /// Whether a stage erased slots with this seed, which would draw the same numbers again. The key `seed` has only that
    /// of the last one, so the stages themselves are read.
    #[must_use]
    pub fn erased_with(&self, seed: u64) -> bool {
        let ending = format!(" --seed {seed}");
        self.iter().any(|(key, stage)| {
            let draws = ["tmt inject ", "tmt synth "];
            key == "stage"
                && draws.iter().any(|start| stage.starts_with(start))
                && stage.ends_with(&ending)
        })
    }

    /// Records that `flag` replaces the value that is stored under `key`.
    pub fn override_value(&mut self, key: &str, flag: &str, stored: u64, used: u64) {
        self.push("overridden", format!("{key} {stored} by {flag} {used}"));
    }

    /// Sets `key`; an existing entry keeps its position.
    pub fn set(&mut self, key: &str, value: impl Into<String>) {
        let value = one_line(&value.into());
        match self.entries.iter_mut().find(|(k, _)| k == key) {
            Some((_, old)) => *old = value,
            None => self.entries.push((key.to_owned(), value)),
        }
    }

    /// Appends an entry `key`, even if there is one already.
    pub fn push(&mut self, key: &str, value: impl Into<String>) {
        self.entries.push((key.to_owned(), one_line(&value.into())));
    }

    /// Removes all entries of `key`.
    pub fn remove(&mut self, key: &str) {
        self.entries.retain(|(k, _)| k != key);
    }

    /// Whether a head may have only one entry `key` (docs/trace-format.md, Sec. 4).
    #[must_use]
    pub fn occurs_once(key: &str) -> bool {
        WHOLE_NUMBERS.contains(&key) || TEXTS.contains(&key)
    }

    /// Whether `key` is a valid key: ASCII letters, digits, `_` and `-`.
    pub(crate) fn is_key(key: &str) -> bool {
        let belongs = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        !key.is_empty() && key.bytes().all(belongs)
    }

    /// Adds a comment line of the head, given without its `#`, if it has the form `key: value`.
    ///
    /// Returns whether it was added.
    pub(crate) fn read_line(&mut self, comment: &str) -> bool {
        if let Some((key, value)) = comment.trim().split_once(':')
            && Self::is_key(key)
        {
            self.entries.push((key.to_owned(), value.trim().to_owned()));
            return true;
        }
        false
    }

    /// Checks the entries of a head; `lines` are their line numbers.
    ///
    /// # Errors
    /// A key that may occur only once is given more than once, or a value is not a number where one is required.
    pub(crate) fn check(&self, lines: &[u64]) -> Result<()> {
        for (at, (key, value)) in self.entries.iter().enumerate() {
            let is_number = WHOLE_NUMBERS.contains(&key.as_str());
            let once = Self::occurs_once(key);
            let position = Position::of_line(lines.get(at).copied().unwrap_or(0), 1);
            let expected = if once && self.entries[..at].iter().any(|(k, _)| k == key) {
                "each key of the head at most once"
            } else if is_number && !value.parse().is_ok_and(|number: u64| number <= MAX) {
                "a whole number from 0 to 2^63 - 1"
            } else if matches!(key.as_str(), "rate_bps" | "lldu_bytes")
                && self.number(key) == Some(0)
            {
                "more than zero"
            } else if key == "packing" && !PACKINGS.contains(&value.as_str()) {
                "packet or bytes"
            } else if key == TraceKind::KEY && !TraceKind::NAMES.contains(&value.as_str()) {
                "capacity or probe"
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

/// Checks that the value given for the parameter `key` is the one that the head of the trace has under `name`.
///
/// # Errors
/// Both values, with the parameter in backticks, if they differ.
pub fn agree<T: PartialEq + Display>(
    key: &str,
    name: &str,
    given: Option<T>,
    known: Option<T>,
) -> Result<(), String> {
    match (given, known) {
        (Some(given), Some(known)) if given != known => Err(format!(
            "`{key}`: found {given}, but {name} in the head of the trace is {known}, expected the same; leave it out"
        )),
        _ => Ok(()),
    }
}

/// Replaces line breaks, such as those in a command's argument: a value is one line.
fn one_line(value: &str) -> String {
    value.replace(['\n', '\r'], " ")
}

/// The end line, which shows that a text trace is complete (docs/trace-format.md, Sec. 5).
#[derive(Debug, derive_more::Display, Clone, Copy, PartialEq, Eq)]
#[display("rows={rows} slots={slots} usable_until_ns={}", usable_until.as_nanos())]
pub struct EndLine {
    /// Data rows of the trace.
    pub rows: u64,
    /// Slots from which the rows were made; equal to `rows` in a PHY trace.
    pub slots: u64,
    /// Transmission time of the first censored LLDU, or of the last slot if none is censored. A run over the rows ends there.
    pub usable_until: Time,
}

impl EndLine {
    /// Form of the text after `# end:`, for messages.
    pub(crate) const FORM: &str = "rows=N slots=M usable_until_ns=T";

    /// Reads the text after `# end:`; `None` if it does not have that form.
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
    fn every_stage_that_drew_erasures_counts() {
        let mut head = Metadata::new();
        for stage in [
            "tmt synth --rate 1Mbps --channel bernoulli:0.1 --seed 3",
            "tmt inject --channel bernoulli:0.1 --seed 41",
            "tmt slice --seed 5",
        ] {
            head.push("stage", stage);
        }
        head.set("seed", "41");
        let erased = [1, 3, 4, 5, 41].map(|seed| head.erased_with(seed));
        assert_eq!(erased, [false, true, false, false, true]);
    }

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
    fn an_incomplete_end_line_is_refused() {
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
    fn slots_per_second_are_those_of_rate_and_lldu_if_both_are_known() {
        let mut head = Metadata::new();
        head.set_slots_per_s(Some(1.0 / 3.0));
        assert_eq!(head.slots_per_s(), Some(1.0 / 3.0));
        head.set("rate_bps", "8000");
        assert_eq!(head.slots_per_s(), Some(1.0 / 3.0));
        head.set("lldu_bytes", "10");
        assert_eq!(head.slots_per_s(), Some(100.0));
        head.set_slots_per_s(Some(7.0));
        assert_eq!(head.get("slots_per_s"), None);
        for text in ["-1", "inf", "soon", "0"] {
            let mut head = Metadata::new();
            head.set("slots_per_s", text);
            assert_eq!(head.slots_per_s(), None, "{text}");
        }
    }

    #[test]
    fn a_comment_without_key_and_value_is_ignored() {
        let mut head = Metadata::new();
        head.read_line(" measured in Livorno: rain");
        head.read_line(" no colon");
        assert_eq!(head.iter().count(), 0);
    }

    #[test]
    fn repeated_keys_and_invalid_numbers_are_refused() {
        for lines in [
            &["rtt_ns: 1", "rtt_ns: 2"][..],
            &["rtt_ns: soon"],
            &["rate_bps: -1"],
            &["lldu_bytes: 0"],
            &["lldu_header_bytes: none"],
            &["lldu_header_bytes: 0", "lldu_header_bytes: 0"],
            &["packing: bytes", "packing: bytes"],
            &["packing: bits"],
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
