//! Writes canonical text (docs/trace-format.md, Sec. 2): head, header, rows in seconds with nine decimals, end line.
//!
//! Consecutive rows share their whole seconds and often their delay, so this text is cached; only other decimals are
//! formatted in each row. A row is composed of words of fixed size. Each word overwrites the excess bytes of the
//! word before. Many rows are copied to the output together.

use super::swar::nine_digits;
use crate::format::columnar::Row;
use crate::format::columns::NAMES;
use crate::types::{EndLine, Lldu, Metadata, NANOS_PER_SECOND, Slot};

/// Bytes after which the buffered rows are copied to the output; a power of two.
const BLOCK: usize = 1 << 12;

/// Bytes that a row may write, including those that the next one overwrites; the longest row has
/// 20 + 1 + 20 + 1 + 10 + 1.
///
/// A power of two of at least twice the bytes used, so that writes starting in the first half need no check.
const ROW: usize = 128;

/// Appends the lines of the head; nothing if `metadata` has no key `tool`.
pub fn head(metadata: &Metadata, out: &mut Vec<u8>) {
    if !metadata.is_head() {
        return;
    }
    for (key, value) in metadata.iter() {
        out.extend_from_slice(format!("# {key}: {value}\n").as_bytes());
    }
}

/// Appends the header of a PHY trace.
pub fn trace_header(out: &mut Vec<u8>) {
    header::<Slot>(out);
}

/// Appends the header of a link-layer timeline.
pub fn timeline_header(out: &mut Vec<u8>) {
    header::<Lldu>(out);
}

/// Appends the header of rows of type `T`.
pub(crate) fn header<T: Row>(out: &mut Vec<u8>) {
    let names = &NAMES[..if T::HAS_ATTEMPTS { 3 } else { 2 }];
    out.extend_from_slice(format!("{}\n", names.join(",")).as_bytes());
}

/// Appends a single row of a PHY trace.
pub fn slot(slot: &Slot, out: &mut Vec<u8>) {
    rows(std::slice::from_ref(slot), out);
}

/// Appends a single row of a link-layer timeline.
pub fn lldu(lldu: &Lldu, out: &mut Vec<u8>) {
    rows(std::slice::from_ref(lldu), out);
}

/// Appends rows of a PHY trace, one per slot.
pub fn slots(slots: &[Slot], out: &mut Vec<u8>) {
    rows(slots, out);
}

/// Appends rows of a link-layer timeline, one per LLDU.
pub fn lldus(lldus: &[Lldu], out: &mut Vec<u8>) {
    rows(lldus, out);
}

/// Appends the end line, which belongs to a text with a head.
pub fn end(end: &EndLine, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("# end: {end}\n").as_bytes());
}

/// Appends `nanos` as seconds with nine decimals.
pub fn seconds(nanos: u64, out: &mut Vec<u8>) {
    whole(nanos / NANOS_PER_SECOND, out);
    out.push(b'.');
    let (eight, last) = nine_digits(nanos % NANOS_PER_SECOND);
    out.extend_from_slice(&eight);
    out.push(last);
}

/// Appends `value` in decimal.
pub(crate) fn whole(value: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends rows of any type.
pub(crate) fn rows<T: Row>(rows: &[T], out: &mut Vec<u8>) {
    let (mut time, mut end) = (Seconds::NONE, End::NONE);
    let mut block = [0; BLOCK + ROW];
    let mut at = 0;
    for row in rows {
        // The mask changes nothing; it removes a bounds check.
        if let Some(window) = block[at & (BLOCK - 1)..].first_chunk_mut() {
            at += write(row, &mut time, &mut end, window);
        }
        if at >= BLOCK {
            out.extend_from_slice(&block[..at]);
            at = 0;
        }
    }
    out.extend_from_slice(&block[..at]);
}

/// Writes a row and returns its length in bytes; `time` and `end` are those of the row before.
#[expect(
    clippy::inline_always,
    reason = "keeps the cached text in registers; one caller"
)]
#[inline(always)]
fn write<T: Row>(row: &T, time: &mut Seconds, end: &mut End, window: &mut [u8; ROW]) -> usize {
    let time_digits = time.digits(row.tx_time().as_nanos());
    let at = time.write(time_digits, b',', window, 0);
    let delay = row.decode_delay().as_nanos();
    let attempts = T::HAS_ATTEMPTS.then(|| row.attempts());
    if delay == 0 {
        put(window, at, [b'0', after_delay(attempts)]);
        return write_attempts(attempts, window, at + 2);
    }
    // Many links have one delay for everything that is received at the first attempt.
    if (delay, attempts) != end.of {
        end.keep(delay, attempts);
    }
    put(
        window,
        at,
        *end.text.first_chunk::<END>().unwrap_or(&[0; END]),
    );
    at + end.length
}

/// The byte that follows a delay.
const fn after_delay(attempts: Option<u32>) -> u8 {
    if attempts.is_some() { b',' } else { b'\n' }
}

/// Writes attempts, if there are any, and the line end at `at`; returns where they end.
#[inline]
fn write_attempts(attempts: Option<u32>, row: &mut [u8; ROW], at: usize) -> usize {
    match attempts {
        None => at,
        Some(attempts @ 0..=9) => {
            put(row, at, [b'0' + (attempts % 10) as u8, b'\n']);
            at + 2
        }
        Some(attempts) => many_attempts(attempts, row, at),
    }
}

/// Bytes of the longest end of a row.
const END: usize = 32;

/// The end of the row before from its delay on, as text.
struct End {
    /// Delay, ns, and attempts, if they are written.
    of: (u64, Option<u32>),
    seconds: Seconds,
    text: [u8; ROW],
    length: usize,
}

impl End {
    /// No end: rows without a delay have none.
    const NONE: Self = Self {
        of: (0, None),
        seconds: Seconds::NONE,
        text: [0; ROW],
        length: 0,
    };

    #[inline]
    fn keep(&mut self, delay: u64, attempts: Option<u32>) {
        self.of = (delay, attempts);
        let digits = self.seconds.digits(delay);
        let text = &mut self.text;
        let at = self.seconds.write(digits, after_delay(attempts), text, 0);
        self.length = write_attempts(attempts, text, at);
    }
}

/// The nine digits after a decimal point.
type Digits = ([u8; 8], u8);

/// The whole seconds of the time written last, as text.
#[derive(Debug, Clone, Copy)]
struct Seconds {
    /// The whole seconds, ns; later than any time if there are none yet.
    nanos: u64,
    /// Their text, the point included, and its length.
    text: [u8; 16],
    length: usize,
}

impl Seconds {
    const NONE: Self = Self {
        nanos: u64::MAX - NANOS_PER_SECOND,
        text: [0; 16],
        length: 0,
    };

    /// The digits of `nanos` after the point; its whole seconds are kept.
    #[inline]
    fn digits(&mut self, nanos: u64) -> Digits {
        if nanos.wrapping_sub(self.nanos) >= NANOS_PER_SECOND {
            self.keep(nanos);
        }
        nine_digits(nanos - self.nanos)
    }

    #[cold]
    fn keep(&mut self, nanos: u64) {
        self.nanos = nanos - nanos % NANOS_PER_SECOND;
        // At most ten digits, the point and nine decimals.
        let mut text = Vec::with_capacity(20);
        seconds(self.nanos, &mut text);
        self.length = text.len() - 9;
        self.text[..self.length].copy_from_slice(&text[..self.length]);
    }

    /// Writes the seconds kept, `digits` and `end`; returns where they end, at most 21 bytes after `at`.
    #[inline]
    fn write(&self, (eight, last): Digits, end: u8, row: &mut [u8; ROW], at: usize) -> usize {
        put(row, at, self.text);
        let at = at + self.length;
        put(row, at, eight);
        put(row, at + 8, [last, end]);
        at + 10
    }
}

/// Writes `text` at `at`, which is below 64; the mask lets the compiler drop the check.
#[inline]
fn put<const N: usize>(row: &mut [u8; ROW], at: usize, text: [u8; N]) {
    if let Some(place) = row[at & (ROW / 2 - 1)..].first_chunk_mut() {
        *place = text;
    }
}

/// Writes attempts of more than one digit and the line end at `at`; returns where they end.
#[cold]
fn many_attempts(attempts: u32, row: &mut [u8; ROW], at: usize) -> usize {
    let text = format!("{attempts}\n");
    let end = at + text.len();
    row[at..end].copy_from_slice(text.as_bytes());
    end
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::types::{Fate, Span, Time};

    /// Times at the edge cases of their text: adjacent values, whole seconds, and the largest.
    fn nanos() -> impl Strategy<Value = u64> {
        prop_oneof![
            2 => Just(0),
            3 => Just(36_000_000),
            3 => 0..3 * NANOS_PER_SECOND,
            1 => (0u32..63).prop_flat_map(|bits| 0..=u64::MAX >> (63 - bits) >> 1),
            1 => (0u32..10, 0u64..3).prop_map(|(power, off)| 10u64.pow(power) * NANOS_PER_SECOND - off),
            1 => Just(i64::MAX.unsigned_abs()),
        ]
        .prop_map(|nanos| nanos.min(i64::MAX.unsigned_abs()))
    }

    fn some_attempts() -> impl Strategy<Value = u32> {
        prop_oneof![5 => Just(1u32), 2 => 1u32..12, 1 => 0u32.., 1 => Just(u32::MAX)]
    }

    proptest! {
        #[test]
        fn rows_contain_their_numbers(
            rows in prop::collection::vec((nanos(), nanos(), some_attempts()), 0..300),
            before in prop::collection::vec(any::<u8>(), 0..5),
        ) {
            let lldus: Vec<Lldu> = rows.iter().map(|&(time, delay, attempts)| Lldu {
                tx_time: Time::from_nanos(time).unwrap(),
                decode_delay: Span::from_nanos(delay).unwrap(),
                attempts,
                fate: Fate::Delivered,
            }).collect();
            let row = |lldu: &Lldu| {
                let number = |nanos: u64| format!("{}.{:09}", nanos / NANOS_PER_SECOND, nanos % NANOS_PER_SECOND);
                let delay = lldu.decode_delay.as_nanos();
                let delay = if delay == 0 { "0".to_owned() } else { number(delay) };
                format!("{},{delay}", number(lldu.tx_time.as_nanos()))
            };
            let (mut text, mut expected) = (before.clone(), before.clone());
            super::lldus(&lldus, &mut text);
            for lldu in &lldus { expected.extend(format!("{},{}\n", row(lldu), lldu.attempts).into_bytes()); }
            prop_assert_eq!(text, expected);

            let is_slot = |lldu: &&Lldu| Slot::new(lldu.tx_time, lldu.decode_delay).is_some();
            let slots: Vec<Slot> = lldus.iter().filter_map(|lldu| Slot::new(lldu.tx_time, lldu.decode_delay)).collect();
            let (mut text, mut expected) = (before.clone(), before);
            super::slots(&slots, &mut text);
            for lldu in lldus.iter().filter(is_slot) { expected.extend(format!("{}\n", row(lldu)).into_bytes()); }
            prop_assert_eq!(text, expected);
        }
    }

    #[test]
    fn the_longest_row_fits() {
        let largest = i64::MAX.unsigned_abs();
        let lldu = Lldu {
            tx_time: Time::from_nanos(largest).unwrap(),
            decode_delay: Span::from_nanos(largest).unwrap(),
            attempts: u32::MAX,
            fate: Fate::Lost,
        };
        let mut text = Vec::new();
        lldus(&[lldu; 100], &mut text);
        let row = "9223372036.854775807,9223372036.854775807,4294967295\n";
        assert_eq!(String::from_utf8(text).unwrap(), row.repeat(100));
    }

    #[test]
    fn nine_decimals_always() {
        for (nanos, text) in [
            (0, "0.000000000"),
            (1, "0.000000001"),
            (12_000_112_820, "12.000112820"),
            (9_223_372_036_854_775_807, "9223372036.854775807"),
        ] {
            let mut out = Vec::new();
            seconds(nanos, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
    }
}
