//! Adaptive coding and modulation against a simulation slot by slot, and against links with one MODCOD.

use proptest::prelude::*;
use tmt_core::channel::synth::ConstantRate;
use tmt_core::math::num::{floor_u64, log10, pow};
use tmt_core::math::rng::{Stream, Uniform};
use tmt_core::radio::{Acm, Adapted, AdaptedLink, LandMobile, RadioChannel, Series};
use tmt_core::types::to_f64;
use tmt_core::{BitRate, Bytes, Slot, Span, Time};

const RATE: BitRate = BitRate(2_630_000);
const LLDU: Bytes = Bytes(33);

fn acm(text: &str) -> Acm {
    Acm::read(text, Span::from_millis(500), |name| Err(name.to_owned())).unwrap()
}

fn channel(text: &str) -> LandMobile {
    text.parse().unwrap()
}

fn link(every: u64, duration: Span) -> AdaptedLink {
    AdaptedLink {
        rate: BitRate(RATE.0 / every),
        every,
        lldu: LLDU,
        duration,
    }
}

fn millis(time: u32) -> Time {
    Time::ZERO.saturating_add(Span::from_millis(time))
}

/// A fade through points of time in ms and Es/N0 in dB.
fn series(points: &[(u32, f64)]) -> Series {
    Series::new(
        points
            .iter()
            .map(|&(time, db)| (millis(time), db))
            .collect(),
    )
    .unwrap()
}

fn all(adapted: &Adapted) -> Vec<Slot> {
    let mut slots = Vec::new();
    let count = usize::try_from(adapted.slots()).unwrap();
    adapted.begin().piece(0, count + 5, &mut slots);
    assert_eq!(slots.len(), count);
    slots
}

/// The slots as the definition has them, one after another: the MODCOD of a slot is that of the last decision at or before its
/// start; slots of one MODCOD that follow each other are 8 · S / rate apart, rounded from the first of them.
fn by_definition(
    link: AdaptedLink,
    parameters: &LandMobile,
    series: Option<&Series>,
    acm: &Acm,
    seed: u64,
) -> (Vec<Slot>, Vec<usize>) {
    let modcods: Vec<_> = acm.modcods.iter().cloned().collect();
    let channels: Vec<RadioChannel> = modcods
        .iter()
        .map(|modcod| {
            let parameters = LandMobile {
                code: modcod.curve.clone(),
                ..parameters.clone()
            };
            match series {
                Some(series) => RadioChannel::of_series(series.clone(), &parameters),
                None => RadioChannel::new(&parameters),
            }
            .unwrap()
        })
        .collect();
    let own = parameters.code.efficiency_bit_per_symbol().unwrap();
    let rates: Vec<u128> = modcods
        .iter()
        .map(|modcod| {
            let bits = to_f64(link.rate.0) * modcod.efficiency_bit_per_symbol / own;
            u128::from(floor_u64(bits.round()))
        })
        .collect();
    // The Es/N0 of every sample, then every decision.
    let until = link.duration.as_nanos() + 1;
    let fade = channels[0].fade(seed, 0).over_time(0);
    let fade: Vec<(u64, f64)> = fade
        .map(|(time, db)| (time.as_nanos(), db))
        .take_while(|(time, _)| *time < until)
        .collect();
    let mut decisions: Vec<usize> = Vec::new();
    for number in 0..=link.duration.as_nanos() / acm.period.as_nanos() {
        let now = (number * acm.period.as_nanos()).saturating_sub(acm.delay.as_nanos());
        let past = || fade.iter().filter(|(time, _)| *time <= now);
        let average = acm.average.as_nanos();
        let recent: Vec<f64> = past()
            .filter(|(time, _)| time + average > now)
            .map(|(_, db)| pow(10.0, db / 10.0))
            .collect();
        let db = if recent.is_empty() {
            past().next_back().unwrap().1
        } else {
            10.0 * log10(recent.iter().sum::<f64>() / to_f64(recent.len() as u64))
        };
        let measured = db - parameters.implementation_loss_db - acm.margin_db;
        let best = |db: f64| {
            let usable = (0..modcods.len()).filter(|at| modcods[*at].threshold_db <= db);
            let efficiency = |at: &usize| modcods[*at].efficiency_bit_per_symbol;
            let best = usable.max_by(|one, other| efficiency(one).total_cmp(&efficiency(other)));
            best.unwrap_or_else(|| {
                let threshold = |at: &usize| modcods[*at].threshold_db;
                let all = 0..modcods.len();
                all.min_by(|one, other| threshold(one).total_cmp(&threshold(other)))
                    .unwrap()
            })
        };
        let (down, up) = (best(measured), best(measured - acm.hysteresis_db));
        let chosen = match decisions.last() {
            Some(now) if *now > down => down,
            Some(now) if *now < up => up,
            Some(now) => *now,
            None => down,
        };
        decisions.push(chosen);
    }
    let mut draws = Uniform::on_lane(seed, Stream::RadioErasure, 0);
    let (mut slots, mut used) = (Vec::new(), Vec::new());
    let (mut now, mut run_start, mut in_run) = (0u64, 0u64, 0u128);
    let mut before = None;
    while now < link.duration.as_nanos() {
        let modcod = decisions[usize::try_from(now / acm.period.as_nanos()).unwrap()];
        if before != Some(modcod) {
            (run_start, in_run) = (now, 0);
        }
        before = Some(modcod);
        let number = slots.len() as u64;
        let rate = rates[modcod];
        let bits = 8 * u128::from(link.lldu.0);
        let full = rate * u128::from(link.every);
        let on_air = (bits * 1_000_000_000 + full / 2) / full;
        let on_air = Span::from_nanos(u64::try_from(on_air).unwrap()).unwrap();
        let time = Time::from_nanos(now).unwrap();
        let lost = draws.at(number * link.every)
            < channels[modcod].begin(seed, 0).error_rate(time, on_air);
        let delay = parameters.interleaver.checked_add(on_air).unwrap();
        slots.push(if lost {
            Slot::erased(time)
        } else {
            Slot::new(time, delay).unwrap()
        });
        used.push(modcod);
        in_run += 1;
        let nanos = (in_run * bits * 1_000_000_000 + rate / 2) / rate;
        now = run_start + u64::try_from(nanos).unwrap();
    }
    (slots, used)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn slots_are_those_of_the_definition(
        points in proptest::collection::vec((1u32..40, -4.0f64..18.0), 2..12),
        every in prop_oneof![Just(1u64), Just(10)],
        margin in 0.0f64..3.0,
        hysteresis in prop_oneof![Just(0.0), 0.0f64..2.0],
        delay in 0u32..100,
        average in prop_oneof![Just(0), 1u32..60],
        period in 100u32..20_000,
        interleaver in prop_oneof![Just(0), 1u32..40],
        seed in any::<u32>(),
        cuts in proptest::collection::vec(1usize..200, 1..4),
    ) {
        let mut now = 0;
        let points: Vec<(u32, f64)> = points
            .into_iter()
            .map(|(step, db)| {
                now += step;
                (now, db)
            })
            .collect();
        let series = series(&points);
        let acm = acm(&format!(
            "dvb-s2,margin={margin}dB,hysteresis={hysteresis}dB,delay={delay}ms,average={average}ms,period={period}us"
        ));
        let text = format!("es-n0=6dB,interleaver={interleaver}ms,implementation-loss=0.5dB");
        let parameters = channel(&text);
        let link = link(every, Span::from_millis(120));
        let seed = u64::from(seed);
        let adapted = Adapted::new(link, &parameters, Some(&series), acm.clone(), seed).unwrap();
        let (expected, _) = by_definition(link, &parameters, Some(&series), &acm, seed);
        prop_assert_eq!(all(&adapted), expected.clone());
        // In pieces, the last one first.
        let mut running = adapted.begin();
        let mut pieces: Vec<(usize, usize)> = Vec::new();
        let mut from = 0;
        for length in cuts.iter().cycle() {
            if from >= expected.len() {
                break;
            }
            pieces.push((from, *length));
            from += length;
        }
        for (from, length) in pieces.into_iter().rev() {
            let mut piece = Vec::new();
            running.piece(from as u64, length, &mut piece);
            let end = (from + length).min(expected.len());
            prop_assert_eq!(&piece[..], &expected[from..end]);
        }
    }
}

#[test]
fn slots_over_a_model_are_those_of_the_definition() {
    let parameters = channel("es-n0=9dB,interleaver=20ms,word-variation=0.5dB");
    let acm = acm("dvb-s2,margin=0.5dB,delay=30ms,period=5ms");
    let link = link(10, Span::from_secs(2));
    let adapted = Adapted::new(link, &parameters, None, acm.clone(), 7).unwrap();
    let (expected, used) = by_definition(link, &parameters, None, &acm, 7);
    let slots = all(&adapted);
    assert_eq!(slots, expected);
    // So that the test can fail: several MODCODs, lost words and received ones.
    let modcods: std::collections::BTreeSet<usize> = used.into_iter().collect();
    let lost = slots.iter().filter(|slot| slot.is_erased()).count();
    assert!(
        modcods.len() > 3 && lost > 10 && lost < slots.len(),
        "{modcods:?} {lost}"
    );
    assert!(adapted.changes() > 5);
}

#[test]
fn a_constant_channel_has_the_slots_of_its_modcod() {
    for (db, name) in [
        (1.5, "dvb-s2:qpsk-1/2"),
        (8.9, "dvb-s2:8psk-3/4"),
        (-5.0, "dvb-s2:qpsk-1/4"),
    ] {
        for every in [1, 10] {
            let constant = series(&[(0, db), (1000, db)]);
            let parameters = channel("es-n0=6dB,interleaver=36ms");
            let link = link(every, Span::from_secs(3));
            let text = "dvb-s2,margin=0.3dB";
            let adapted = Adapted::new(link, &parameters, Some(&constant), acm(text), 3).unwrap();
            let fixed = LandMobile {
                code: name.parse().unwrap(),
                ..parameters.clone()
            };
            let fixed = RadioChannel::of_series(constant, &fixed).unwrap();
            let rate = adapted.mean_rate();
            let on_air = BitRate(rate.0 * every)
                .time_of_bit(264)
                .unwrap()
                .since(Time::ZERO);
            let delay = on_air.checked_add(Span::from_millis(36)).unwrap();
            let slots = ConstantRate::new(rate, LLDU, link.duration, delay).unwrap();
            let mut slots: Vec<Slot> = slots.collect();
            fixed.begin(3, 0).erase_every(every, 0, on_air, &mut slots);
            assert_eq!(all(&adapted), slots, "{name} {every}");
            assert_eq!(adapted.changes(), 0);
            assert_eq!(adapted.outage() > 0.0, db < -2.35);
            // 2/3 bit/symbol is the efficiency of the turbo code, with which the link has its rate.
            let efficiency: f64 = match name {
                "dvb-s2:qpsk-1/2" => 0.988_858,
                "dvb-s2:8psk-3/4" => 2.228_124,
                _ => 0.490_243,
            };
            let expected = (to_f64(link.rate.0) * efficiency * 1.5).round();
            assert_eq!(rate.0, floor_u64(expected));
        }
    }
}

#[test]
fn what_is_known_at_once_and_kept_in_reserve_is_not_lost() {
    for step in 0..25 {
        let db = -2.0 + 0.7 * f64::from(step);
        let constant = series(&[(0, db), (1000, db)]);
        let parameters = channel("es-n0=6dB");
        let link = link(10, Span::from_millis(500));
        let text = "dvb-s2,margin=0.3dB,delay=0s";
        let adapted = Adapted::new(link, &parameters, Some(&constant), acm(text), 1).unwrap();
        let lost = all(&adapted).iter().filter(|slot| slot.is_erased()).count();
        assert_eq!(lost, 0, "{db} dB");
    }
}

#[test]
fn an_adapted_link_carries_more_than_any_of_its_modcods_alone() {
    // A slow fade of 16 dB and back.
    let fade = series(&[(0, 16.5), (10_000, -1.0), (20_000, 16.5)]);
    let parameters = channel("es-n0=6dB");
    let link = link(10, Span::from_secs(20));
    let received = |table: &str| {
        let acm = acm(&format!("{table},margin=0.3dB,delay=0s"));
        let adapted = Adapted::new(link, &parameters, Some(&fade), acm, 1).unwrap();
        let slots = all(&adapted);
        slots.iter().filter(|slot| !slot.is_erased()).count()
    };
    let adapted = received("dvb-s2");
    let acm = acm("dvb-s2");
    let fixed: Vec<usize> = acm
        .modcods
        .iter()
        .map(|modcod| received(&modcod.name))
        .collect();
    let best = *fixed.iter().max().unwrap();
    assert!(adapted > best + best / 4, "{adapted} {fixed:?}");
}

#[test]
fn the_rate_is_the_mean_over_time() {
    // Half of the time QPSK 1/4, half 8PSK 3/4, but for the 1 ms in between.
    let fade = series(&[(0, 0.0), (1000, 0.0), (1001, 8.5), (2000, 8.5)]);
    let parameters = channel("es-n0=6dB");
    let link = link(10, Span::from_secs(2));
    let text = "modcods:low;0.5;-2;dvb-s2:qpsk-1/4&high;2;8;dvb-s2:8psk-3/4,margin=0.2dB,delay=0s,period=1ms";
    let adapted = Adapted::new(link, &parameters, Some(&fade), acm(text), 1).unwrap();
    let uses = adapted.uses();
    assert_eq!(
        (uses[0].rate, uses[1].rate),
        (BitRate(197_250), BitRate(789_000))
    );
    assert!((uses[0].time_share - 0.5).abs() < 0.002, "{uses:?}");
    let mean = uses
        .iter()
        .map(|used| to_f64(used.rate.0) * used.time_share)
        .sum::<f64>();
    assert!((to_f64(adapted.mean_rate().0) - mean).abs() <= 0.5 + 1e-6);
    let carried = to_f64(adapted.slots()) * 264.0 / 2.0;
    assert!((carried / mean - 1.0).abs() < 0.002);
    assert_eq!(adapted.changes(), 1);
}
