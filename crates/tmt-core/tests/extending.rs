//! The walks of docs/extending.md that concern this crate, from outside: a scheme, a code and an erasure process. That of a trace
//! format is in `import.rs`.

mod channel;
pub(crate) mod code;
mod scheme;

use tmt_core::channel::{self as channels, Channel, ChannelSpec, SlotChannel};
use tmt_core::scheme::{FAMILIES, SchemeSpec};
use tmt_core::{Fate, SchemeRunner, Slot, Span, Time};

/// Slots a millisecond apart, these erased.
fn slots(count: u64, erased: &[u64]) -> Vec<Slot> {
    let slot = |number: u64| {
        let at = Time::from_nanos(number * 1_000_000).unwrap();
        let delay = Span::from_nanos(u64::from(!erased.contains(&number))).unwrap();
        Slot::new(at, delay).unwrap()
    };
    (0..count).map(slot).collect()
}

#[test]
fn a_scheme_from_outside_runs_like_ours() {
    let families = [FAMILIES, &[&scheme::TWICE]].concat();
    let walked = |text: &str| {
        let spec = SchemeSpec::parse_with(text, &families).unwrap();
        let mut runner = SchemeRunner::new(spec, Span::from_millis(2), Span::ZERO);
        let mut lldus = Vec::new();
        runner
            .push_slots(&slots(20, &[3, 6, 5]), &mut lldus)
            .unwrap();
        runner.finish(&mut lldus);
        lldus
    };
    let lldus = walked("twice");
    assert_eq!(lldus, walked("arq:rounds=1"));
    // Slot 3 and its repeat are erased: given up. Slot 5 is repeated once and arrives.
    let lost = lldus.iter().filter(|lldu| lldu.fate == Fate::Lost).count();
    let repeated = lldus
        .iter()
        .filter(|lldu| lldu.attempts == 2 && lldu.fate == Fate::Delivered);
    assert_eq!((lost, repeated.count()), (1, 1), "{lldus:?}");
    for text in scheme::TWICE.examples {
        let spec = SchemeSpec::parse_with(text, &families).unwrap();
        assert_eq!(spec.to_string(), *text);
    }
    let refusal = SchemeSpec::parse_with("thrice", &families).unwrap_err();
    assert!(refusal.to_string().contains("twice"), "{refusal}");
    assert!("twice".parse::<SchemeSpec>().is_err());
}

#[test]
fn an_erasure_process_from_outside_is_read_beside_ours() {
    let families = [channels::FAMILIES, &[&channel::BURSTS]].concat();
    let read = |text| SlotChannel::parse_with(text, &families);
    let same = "gilbert-elliott:alpha=0.99,beta=0.5".parse();
    assert_eq!(read("bursts:length=2"), same);
    let Ok(SlotChannel::Steps(spec)) = read("bursts:length=4,every=40") else {
        panic!("bursts go on with every unit");
    };
    let mut process = Channel::new(spec, 1);
    let erased: Vec<bool> = (0..200_000).map(|_| process.erases()).collect();
    let bursts = erased.windows(2).filter(|pair| !pair[0] && pair[1]).count();
    let units = erased.iter().filter(|erased| **erased).count();
    let mean = tmt_core::types::to_f64(units as u64) / tmt_core::types::to_f64(bursts as u64);
    // Some 4 500 bursts: standard error 0.05.
    assert!((mean - 4.0).abs() < 0.25, "{mean}");
    assert!(read("bernoulli:0.1").is_ok());
    assert!(read("rain:1").unwrap_err().to_string().contains("bursts"));
    assert!("bursts:length=2".parse::<ChannelSpec>().is_err());
}

#[test]
fn an_erasure_process_in_time_from_outside_runs_like_ours() {
    let families = [channels::FAMILIES, &[&channel::SUNSET]].concat();
    let process = SlotChannel::parse_with("sunset:15ms", &families).unwrap();
    assert_eq!(process.to_string(), "sunset:15ms");
    let mut running = process.begin(1, channels::Use::Forward);
    let mut sent = slots(20, &[]);
    for slot in &mut sent {
        *slot = Slot::new(slot.tx_time(), Span::from_millis(1)).unwrap();
    }
    running.erase(0, Span::from_millis(2), &mut sent);
    let received = sent.iter().filter(|slot| !slot.is_erased()).count();
    // Those that end by 15 ms: 0 to 13.
    assert_eq!(received, 14);
}
