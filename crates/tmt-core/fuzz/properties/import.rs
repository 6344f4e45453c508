//! Formats of other tools: nothing panics, and times never go back.

use tmt_core::format::import::delay_loss::{DelayLoss, Reading};
use tmt_core::format::import::mahimahi::Mahimahi;
use tmt_core::format::text::Unit;
use tmt_core::types::{Span, Time};

/// Whatever the bytes are.
pub(crate) fn check(data: &[u8]) {
    let one = Span::from_nanos(1).unwrap();
    let mut last = Time::ZERO;
    let mut trace = Mahimahi::new(data, one);
    while let Ok(Some(slot)) = trace.next_slot() {
        assert!(slot.tx_time() >= last);
        last = slot.tx_time();
    }
    let (delay, loss) = data.split_at(data.len() / 2);
    let reading = Reading {
        interval: Span::from_millis(10),
        unit: Unit::Nanoseconds,
        round_trip: false,
        lost: b'1',
        propagation: one,
        decode_delay: one,
    };
    let mut pair = DelayLoss::new(Some(delay), Some(loss), reading);
    while let Ok(Some(slot)) = pair.next_slot() {
        assert!(slot.is_erased() || slot.decode_delay() >= one);
    }
    let _ = pair.findings();
}
