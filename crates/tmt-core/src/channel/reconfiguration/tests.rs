use proptest::prelude::*;

use super::*;
use crate::types::{Slot, to_f64};

fn read(text: &str) -> Reconfiguration {
    Reconfiguration::read(&FAMILY.read(Some(text)).unwrap()).unwrap()
}

/// Slots every `spacing` ns, decoded after 1 ms.
fn slots(len: usize, spacing: u64) -> Vec<Slot> {
    let slot = |j| Slot::new(Time::from_nanos(j * spacing)?, Span::from_millis(1));
    (0..len as u64).filter_map(slot).collect()
}

fn run(text: &str, seed: u64, slots: &mut [Slot], spacing: u64) {
    let on_air = Span::from_nanos(spacing).unwrap();
    read(text).begin(seed, Use::Forward).erase(0, on_air, slots);
}

/// Within a second of the boundaries at 0.5 s, 1.5 s, … the first 50 ms are lost, and nothing else.
#[test]
fn a_certain_disturbance_erases_the_slots_that_touch_it() {
    let text =
        "period=1s,first=500ms,shortest=50ms,longest=50ms,disturbed=1,loss=0,spread=0s,jitter=0s";
    let mut found = slots(3_000, 1_000_000);
    run(text, 1, &mut found, 1_000_000);
    for (at, slot) in found.iter().enumerate() {
        let within = at >= 500 && (at - 500) % 1000 < 50;
        assert_eq!(slot.is_erased(), within, "{at}");
        assert!(within || slot.decode_delay() == Span::from_millis(1));
    }
    // A slot that ends after the boundary is disturbed, too.
    let mut found = slots(3, 499_999_999);
    run(text, 1, &mut found, 2);
    assert_eq!(
        found.iter().map(Slot::is_erased).collect::<Vec<_>>(),
        [false, true, false]
    );
}

#[test]
fn a_disturbance_without_length_erases_nothing() {
    let text = "period=1s,first=500ms,shortest=0s,longest=0s,disturbed=1,loss=0";
    let mut found = slots(1_000, 3_000_000);
    run(text, 1, &mut found, 3_000_000);
    assert!(found.iter().all(|slot| !slot.is_erased()));
    assert!(
        read(text)
            .note(Span::from_millis(3))
            .contains("erases 0.000 %")
    );
}

#[test]
fn the_note_states_the_share_of_erased_slots() {
    let text = "period=100ms,first=0s,shortest=5ms,longest=15ms,disturbed=0.5,loss=0";
    let mut found = slots(200_000, 5_001_300);
    run(text, 2, &mut found, 5_000_000);
    let lost = found.iter().filter(|slot| slot.is_erased()).count();
    // At all places in a period, slots of 5 ms meet a disturbance of 10 ms in every 100 ms for 15 ms.
    assert!(
        (to_f64(lost as u64) / 200_000.0 - 0.075).abs() < 0.003,
        "{lost}"
    );
    let note = read(text).note(Span::from_millis(5));
    assert_eq!(
        note,
        "disturbed for 10.000 % of the time, which erases 7.500 % of the slots of 5ms"
    );
}

#[test]
fn delays_have_the_published_mean_difference_and_never_overtake() {
    // 4000 s of periods of 1 s with 25 delays each; probes in the middle of each.
    let text = "period=1s,first=0s,shortest=0s,longest=0s,loss=0,spread=20ms,jitter=6.7ms";
    let mut found = slots(800_000, 5_000_000);
    run(text, 5, &mut found, 1);
    let delay: Vec<f64> = found
        .iter()
        .map(|slot| slot.decode_delay().as_secs_f64() - 0.001)
        .collect();
    for pair in found.windows(2) {
        let arrival = |slot: &Slot| slot.tx_time().saturating_add(slot.decode_delay());
        assert!(arrival(&pair[0]) <= arrival(&pair[1]));
    }
    // The last slot of each delay, which none before holds back: 40 ms = 8 slots.
    let last: Vec<f64> = delay.iter().skip(7).step_by(8).copied().collect();
    let mean = last.iter().sum::<f64>() / to_f64(last.len() as u64);
    // Uniform from 0 to 20 ms and to 20.1 ms.
    assert!((mean - 0.02005).abs() < 2e-4, "{mean}");
    let within = last
        .windows(2)
        .enumerate()
        .filter(|(at, _)| (at + 1) % 25 != 0);
    let differences: Vec<f64> = within.map(|(_, pair)| (pair[0] - pair[1]).abs()).collect();
    let mean = differences.iter().sum::<f64>() / to_f64(differences.len() as u64);
    assert!((mean - 0.0067).abs() < 1e-4, "{mean}");
}

#[test]
fn losses_outside_disturbances_have_share_and_burst_length() {
    let text = "period=1h,first=1h,loss=0.01,burst=1.2,spread=0s,jitter=0s";
    let mut found = slots(2_000_000, 100_000);
    run(text, 3, &mut found, 100_000);
    let lost = found.iter().filter(|slot| slot.is_erased()).count();
    let bursts = found
        .windows(2)
        .filter(|pair| !pair[0].is_erased() && pair[1].is_erased())
        .count();
    let (lost, bursts) = (to_f64(lost as u64), to_f64(bursts as u64));
    assert!((lost / 20_000.0 - 1.0).abs() < 0.04, "{lost}");
    assert!((lost / bursts - 1.2).abs() < 0.02, "{lost} {bursts}");
}

#[test]
fn parameters_out_of_range_are_refused() {
    for text in [
        "period=0s",
        "hold=1us",
        "shortest=90ms",
        "longest=16s",
        "spread=2s",
        "loss=0.6",
        "burst=0.5",
        "burst=x",
        "disturbed=2",
        "jitter=1",
    ] {
        let values = FAMILY.read(Some(text));
        let refused = values.is_err() || Reconfiguration::read(&values.unwrap()).is_err();
        assert!(refused, "{text}");
    }
}

proptest! {
    #[test]
    fn pieces_in_any_order_equal_the_whole(
        seed: u64,
        spacing in 1_000u64..5_000_000,
        cuts in prop::collection::vec((0usize..3000, 1usize..500), 1..8),
    ) {
        let texts = ["period=100ms,first=7ms,shortest=1ms,longest=9ms,disturbed=0.5,loss=0.01,hold=13ms"];
        let on_air = Span::from_nanos(spacing).unwrap();
        for text in texts {
            let mut whole = slots(3000, spacing);
            run(text, seed, &mut whole, spacing);
            let mut running = read(text).begin(seed, Use::Forward);
            for (from, len) in &cuts {
                let to = (from + len).min(3000);
                let mut found = slots(3000, spacing)[*from..to].to_vec();
                running.erase(*from as u64, on_air, &mut found);
                prop_assert_eq!(&found[..], &whole[*from..to]);
            }
        }
    }
}
