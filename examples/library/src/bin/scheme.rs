//! HARQ-II over eight slots that are in memory: what becomes of each data LLDU.

use tmt_core::{SchemeRunner, SchemeSpec, Slot, Span, Time};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Slots 10 ms apart, decoded after 1 ms; the second and the third are erased.
    let slots: Option<Vec<Slot>> = (0..8)
        .map(|slot| {
            let erased = matches!(slot, 1 | 2);
            let sent = Time::ZERO.saturating_add(Span::from_millis(10 * slot));
            Slot::new(sent, Span::from_millis(u32::from(!erased)))
        })
        .collect();
    let mut runner = SchemeRunner::new(SchemeSpec::harq(2, 3)?, Span::from_millis(20), Span::ZERO);
    let mut lldus = Vec::new();
    runner.push_slots(&slots.ok_or("a slot past 2^63 - 1 ns")?, &mut lldus)?;
    let end = runner.finish(&mut lldus);
    for lldu in &lldus {
        let (sent, delay, attempts) = (lldu.tx_time, lldu.decode_delay, lldu.attempts);
        println!("{sent}: {:?} after {delay}, attempt {attempts}", lldu.fate);
    }
    println!("{} LLDUs of {} slots", end.rows, end.slots);
    Ok(())
}
