use proptest::prelude::*;

use super::*;
use crate::math::rng::{Stream, Uniform};

/// Whole random numbers.
struct Random {
    uniform: Uniform,
    next: u64,
}

impl Random {
    fn new(seed: u64) -> Self {
        Self {
            uniform: Uniform::new(seed, Stream::CodingData),
            next: 0,
        }
    }

    /// A number below `end`.
    fn below(&mut self, end: usize) -> usize {
        self.next += 1;
        let number = self.uniform.at(self.next) * crate::types::to_f64(end as u64);
        usize::try_from(crate::math::num::floor_u64(number)).unwrap()
    }

    fn byte(&mut self) -> u8 {
        u8::try_from(self.below(256)).unwrap()
    }

    fn codeword(&mut self, code: &ReedSolomon) -> Vec<u8> {
        let mut word: Vec<u8> = (0..code.n()).map(|_| self.byte()).collect();
        code.encode(&mut word);
        word
    }

    /// `count` different places in n symbols.
    fn places(&mut self, n: usize, count: usize) -> Vec<usize> {
        let mut places: Vec<usize> = (0..n).collect();
        for at in 0..count {
            let chosen = at + self.below(n - at);
            places.swap(at, chosen);
        }
        places.truncate(count);
        places
    }

    /// Makes the symbols at `places` wrong.
    fn corrupt(&mut self, word: &mut [u8], places: &[usize]) {
        for place in places {
            word[*place] ^= u8::try_from(1 + self.below(255)).unwrap();
        }
    }
}

const CODES: [(usize, usize); 9] = [
    (255, 223),
    (239, 223),
    (255, 249),
    (255, 127),
    (255, 1),
    (60, 10),
    (10, 9),
    (2, 1),
    (12, 3),
];

#[test]
fn encoding_and_decoding_are_those_of_the_public_crate() {
    let mut random = Random::new(1);
    for (n, k) in CODES {
        let code = ReedSolomon::new(n, k).unwrap();
        let encoder = reed_solomon::Encoder::new(n - k);
        let decoder = reed_solomon::Decoder::new(n - k);
        for _ in 0..40 {
            let word = random.codeword(&code);
            assert_eq!(encoder.encode(&word[..k])[..], word[..], "{n} {k}");
            if n - k > 64 {
                // Its decoder multiplies polynomials that its buffers cannot hold.
                continue;
            }
            let errors = random.below((n - k) / 2 + 1);
            let places = random.places(n, errors);
            let mut received = word.clone();
            random.corrupt(&mut received, &places);
            let theirs = decoder.correct(&received, None).unwrap();
            assert_eq!(code.decode(&mut received, &[]), Ok(errors));
            assert_eq!(received, word);
            assert_eq!(theirs[..], received[..]);
        }
    }
}

#[test]
fn all_numbers_of_errors_and_erasures_within_the_distance_are_corrected() {
    let mut random = Random::new(2);
    for (n, k) in CODES {
        let code = ReedSolomon::new(n, k).unwrap();
        for erased in (0..=n - k).step_by((n - k).div_ceil(40)) {
            for wrong in (0..=(n - k - erased) / 2).step_by((n - k).div_ceil(40)) {
                let word = random.codeword(&code);
                let places = random.places(n, erased + wrong);
                let mut received = word.clone();
                random.corrupt(&mut received, &places);
                let found = code.decode(&mut received, &places[..erased]);
                assert_eq!(found, Ok(erased + wrong), "{n} {k} {erased} {wrong}");
                assert_eq!(received, word);
            }
        }
    }
}

#[test]
fn a_word_beyond_the_distance_fails_and_stays_as_it_is() {
    let mut random = Random::new(3);
    let code = ReedSolomon::new(255, 223).unwrap();
    for erased in 0..=32 {
        let wrong = (32 - erased) / 2 + 1;
        let mut received = random.codeword(&code);
        let places = random.places(255, erased + wrong);
        random.corrupt(&mut received, &places);
        let before = received.clone();
        // With many erasures most words are near another codeword.
        if erased < 20 {
            assert_eq!(code.decode(&mut received, &places[..erased]), Err(Failure));
            assert_eq!(received, before);
        }
    }
    let mut received = random.codeword(&code);
    received[0] ^= 1;
    let places = random.places(255, 33);
    assert_eq!(code.decode(&mut received, &places), Err(Failure));
}

/// Erasures leave a single symbol of the parity, which detects an error and corrects none.
#[test]
fn an_error_beside_one_spare_parity_symbol_is_detected_not_corrected() {
    let mut random = Random::new(5);
    for (n, k) in CODES {
        let code = ReedSolomon::new(n, k).unwrap();
        for _ in 0..20 {
            let mut received = random.codeword(&code);
            let places = random.places(n, n - k);
            random.corrupt(&mut received, &places);
            let found = code.decode(&mut received, &places[..n - k - 1]);
            assert_eq!(found, Err(Failure), "{n} {k}");
        }
    }
}

/// Words with `least_wrong` or more random errors that are decoded nevertheless, of `words`.
fn miscorrected(seed: u64, (n, k): (usize, usize), least_wrong: usize, words: usize) -> usize {
    let mut random = Random::new(seed);
    let code = ReedSolomon::new(n, k).unwrap();
    let mut received = vec![0; n];
    let mut places: Vec<usize> = (0..n).collect();
    (0..words)
        .filter(|_| {
            // The code is linear: errors on the word of zeros.
            received.fill(0);
            let wrong = least_wrong + random.below(9);
            for at in 0..wrong {
                let chosen = at + random.below(n - at);
                places.swap(at, chosen);
            }
            random.corrupt(&mut received, &places[..wrong]);
            let is_decoded = code.decode(&mut received, &[]).is_ok();
            if is_decoded {
                let mut again = received.clone();
                code.encode(&mut again);
                assert_eq!(again, received, "a decoded word is a codeword");
                assert!(received.iter().any(|symbol| *symbol != 0));
            }
            is_decoded
        })
        .count()
}

/// The share of all words that are within the distance of a codeword, which words with more than t + 1 errors are close to
/// (McEliece and Swanson, IEEE Trans. Inf. Theory, 1986, who bound it by 1/t!).
#[test]
fn six_parity_symbols_miscorrect_as_often_as_codewords_are_dense() {
    let (n, t) = (255, 3_u64);
    let mut share = 0.0;
    let mut patterns = 1.0;
    for errors in 0..=t {
        share += patterns / crate::math::num::powi(256.0, 2 * t);
        patterns *= 255.0 * f64::from(n - u32::try_from(errors).unwrap())
            / f64::from(u32::try_from(errors + 1).unwrap());
    }
    let words = 20_000;
    let found = miscorrected(4, (255, 249), 4, words);
    let found = crate::types::to_f64(found as u64) / crate::types::to_f64(words as u64);
    // Words with 4 errors are closer to codewords of weight 7 than random ones by a few per cent.
    let error = (share / crate::types::to_f64(words as u64)).sqrt();
    assert!((found - share).abs() < 4.0 * error, "{found} {share}");
    assert!((share - 1.0 / 6.0).abs() < 0.01, "{share}");
}

#[test]
#[ignore = "two minutes in a release build: .ci/long codes runs it"]
fn thirty_two_parity_symbols_never_miscorrect() {
    // About 1/16! = 5e-14 of such words would be, with any seed.
    let seed = test_support::seed();
    assert_eq!(miscorrected(seed, (255, 223), 17, 10_000_000), 0);
}

#[test]
fn thirty_two_parity_symbols_never_miscorrect_in_few_words() {
    assert_eq!(miscorrected(4, (255, 223), 17, 2_000), 0);
}

#[test]
fn numbers_out_of_range_are_refused() {
    for (n, k) in [(256, 223), (255, 0), (223, 223), (1, 1), (0, 0)] {
        let error = ReedSolomon::new(n, k).unwrap_err();
        assert!(error.to_string().contains("1 <= k < n <= 255"), "{error}");
    }
}

proptest! {
    #[test]
    fn any_pattern_within_the_distance_is_corrected(
        n in 2usize..=255,
        parity in 1usize..=64,
        data in prop::collection::vec(any::<u8>(), 255),
        order in Just((0usize..255).collect::<Vec<_>>()).prop_shuffle(),
        errors in prop::collection::vec(any::<u8>(), 255),
        share in 0.0..=1.0f64,
    ) {
        let parity = parity.min(n - 1);
        let code = ReedSolomon::new(n, n - parity).unwrap();
        let mut word = data[..n].to_vec();
        code.encode(&mut word);
        let erased = crate::math::num::floor_u64(crate::types::to_f64(parity as u64) * share);
        let erased = usize::try_from(erased).unwrap();
        let wrong = (parity - erased) / 2;
        let places: Vec<usize> = order.into_iter().filter(|place| *place < n).take(erased + wrong).collect();
        let mut received = word.clone();
        for (place, error) in places.iter().zip(&errors) {
            received[*place] ^= error;
        }
        let erased = erased.min(places.len());
        let changed = places.iter().filter(|place| received[**place] != word[**place]).count();
        prop_assert_eq!(code.decode(&mut received, &places[..erased]), Ok(changed));
        prop_assert_eq!(received, word);
    }
}
