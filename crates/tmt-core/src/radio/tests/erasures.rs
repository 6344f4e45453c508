//! Which words are lost, slot by slot: those whose uniform number is below their error rate (docs/channels.md, Sec. 5).

use super::*;
use crate::math::rng::{Stream, Uniform};

/// Lost words and words that are neither lost for certain nor received for certain, of 20 000.
fn assert_lost_by_number(channel: &RadioChannel, every: u64, first: u64) -> (usize, usize) {
    let (seed, lane) = (3, 2);
    let on_air = Span::from_micros(100);
    let mut words = slots(0, 20_000, Span::from_millis(3));
    channel
        .begin(seed, lane)
        .erase_every(every, first, on_air, &mut words);
    let mut running = channel.begin(seed, lane);
    let mut numbers = Uniform::on_lane(seed, Stream::RadioErasure, lane);
    let mut open = 0;
    for (number, word) in (first..).zip(&words) {
        let rate = running.error_rate(word.tx_time(), on_air);
        open += usize::from(rate > 0.0 && rate < 1.0);
        let expected = numbers.at(number * every) < rate;
        assert_eq!(word.is_erased(), expected, "{every} {number} {rate}");
    }
    (words.iter().filter(|word| word.is_erased()).count(), open)
}

#[test]
fn a_word_is_lost_if_its_number_is_below_its_error_rate() {
    for (every, first) in [(1, 0), (1, 37), (7, 11), (64, 1), (100, 3)] {
        let fading = channel("es-n0=3dB,interleaver=5ms");
        let (lost, open) = assert_lost_by_number(&fading, every, first);
        assert!(lost > 1000 && lost < 19_000 && open > 1000, "{lost} {open}");
        // Words that are seldom lost are lost as well.
        let parameters = LandMobile::new(0.0, "turbo:264-1/3".parse().unwrap());
        let db = parameters.code.threshold_db(5e-4).unwrap();
        let end = Time::ZERO.saturating_add(Span::from_secs(9));
        let series = Series::new(vec![(Time::ZERO, db), (end, db)]).unwrap();
        let constant = RadioChannel::of_series(series, &parameters).unwrap();
        let (lost, open) = assert_lost_by_number(&constant, every, first);
        assert!(lost > 0 && open == 20_000, "{lost} {open}");
    }
}

/// Thresholds of DVB-S2 are where one word in ten million is lost. Uniform numbers have steps of 1e-16, so a rate below is 0.
#[test]
fn rare_losses_are_neither_forgotten_nor_made_up() {
    for (rate, expected) in [(1e-7, 1e-7), (1e-12, 1e-12), (1e-17, 0.0)] {
        let parameters = LandMobile::new(0.0, "dvb-s2:qpsk-1/2".parse().unwrap());
        let db = parameters.code.threshold_db(rate).unwrap();
        let end = Time::ZERO.saturating_add(Span::from_secs(9));
        let series = Series::new(vec![(Time::ZERO, db), (end, db)]).unwrap();
        let channel = RadioChannel::of_series(series, &parameters).unwrap();
        let found = channel.begin(1, 0).error_rate(end, Span::from_micros(100));
        assert!((found - expected).abs() <= 0.1 * expected, "{rate} {found}");
    }
}
