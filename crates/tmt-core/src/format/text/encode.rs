//! Canonical text: seconds with nine decimals, LF, the head in front and the end line behind.

pub use super::bulk::{lldus, slots};
use crate::types::{EndLine, Lldu, Metadata, NANOS_PER_SECOND, Slot, Span};

/// Appends the head, if there is one.
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
    out.extend_from_slice(b"tx_time,decode_delay\n");
}

/// Appends the header of a link-layer timeline.
pub fn timeline_header(out: &mut Vec<u8>) {
    out.extend_from_slice(b"tx_time,decode_delay,attempts\n");
}

/// Appends one row of a PHY trace.
pub fn slot(slot: &Slot, out: &mut Vec<u8>) {
    seconds(slot.tx_time().as_nanos(), out);
    out.push(b',');
    delay(slot.decode_delay(), out);
    out.push(b'\n');
}

/// Appends one row of a link-layer timeline.
pub fn lldu(lldu: &Lldu, out: &mut Vec<u8>) {
    seconds(lldu.tx_time.as_nanos(), out);
    out.push(b',');
    delay(lldu.decode_delay, out);
    out.push(b',');
    whole(u64::from(lldu.attempts), out);
    out.push(b'\n');
}

/// Appends the end line.
pub fn end(end: &EndLine, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("# end: {end}\n").as_bytes());
}

fn delay(span: Span, out: &mut Vec<u8>) {
    if span.is_zero() {
        out.push(b'0');
    } else {
        seconds(span.as_nanos(), out);
    }
}

/// Appends `nanos` as seconds with nine decimals.
pub fn seconds(nanos: u64, out: &mut Vec<u8>) {
    whole(nanos / NANOS_PER_SECOND, out);
    let mut fraction = *b".000000000";
    let mut rest = nanos % NANOS_PER_SECOND;
    let mut at = fraction.len();
    while rest != 0 {
        at -= 1;
        fraction[at] = digit(rest);
        rest /= 10;
    }
    out.extend_from_slice(&fraction);
}

/// Appends `value` in decimal.
pub(crate) fn whole(mut value: u64, out: &mut Vec<u8>) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = digit(value);
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

fn digit(value: u64) -> u8 {
    b'0' + (value % 10) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

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
