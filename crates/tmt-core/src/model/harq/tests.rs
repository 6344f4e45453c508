use proptest::prelude::*;

use super::*;
use crate::channel::{Channel, ChannelSpec};

fn code(alpha: f64, beta: f64, data: usize, repair: usize) -> Code {
    Code {
        chain: Chain::new(alpha, beta, 0.0, 1.0).unwrap(),
        data,
        repair,
    }
}

/// Simulates codewords, each attempt on an independent channel. Returns useful and sent LLDUs, rounds waited per data
/// LLDU, and the shares decoded in each round.
fn simulated(code: &Code, repeats: Repeats, words: u64, seed: u64) -> (f64, f64, f64, Vec<f64>) {
    let text = format!("alpha={},beta={}", code.chain.alpha(), code.chain.beta());
    let spec = ChannelSpec::GilbertElliott(text.parse().unwrap());
    let mut seeds = seed..;
    let mut stretch = |lldus: usize| -> Vec<bool> {
        let mut channel = Channel::new(spec, seeds.next().unwrap());
        (0..lldus).map(|_| channel.erases()).collect()
    };
    let (mut useful, mut sent, mut waited) = (0, 0, 0);
    let mut decoded = vec![0u64; repeats.rounds + 1];
    for _ in 0..words {
        let first = stretch(code.units());
        sent += first.len();
        let gone = first[..code.data].iter().filter(|erased| **erased).count();
        let mut missing = first
            .iter()
            .filter(|erased| **erased)
            .count()
            .saturating_sub(code.repair);
        let mut round = 0;
        while missing > 0 && round < repeats.rounds {
            round += 1;
            let more = stretch(missing + repeats.extra);
            sent += more.len();
            let erased = more.iter().filter(|erased| **erased).count();
            missing = erased.saturating_sub(repeats.extra);
        }
        if missing == 0 {
            useful += code.data;
            waited += gone * round;
            decoded[round] += 1;
        } else {
            useful += code.data - gone;
        }
    }
    let each = |total: usize| of(total) / crate::types::to_f64(words);
    let decoded = decoded
        .iter()
        .map(|count| crate::types::to_f64(*count) / crate::types::to_f64(words));
    (
        each(useful),
        each(sent),
        each(waited) / of(code.data),
        decoded.collect(),
    )
}

#[test]
fn the_sums_agree_with_simulated_codewords() {
    for (alpha, beta, data, repair, extra, rounds) in [
        (0.9, 0.7, 10, 2, 0, 2),
        (0.8, 0.8, 5, 2, 1, 1),
        (0.85, 0.6, 6, 0, 2, 3),
        (0.7, 0.5, 8, 3, 0, 5),
    ] {
        let code = code(alpha, beta, data, repair);
        let repeats = Repeats { extra, rounds };
        let words = 60_000;
        let (useful, sent, waited, decoded) = simulated(&code, repeats, words, 7);
        let harq = Harq::new(&code, repeats);
        // Standard errors are below 4, 20 and 1, each divided by the root of the number of codewords.
        let root = crate::types::to_f64(words).sqrt();
        assert!(
            (harq.mean_useful - useful).abs() < 4.5 * 4.0 / root,
            "{useful} {harq:?}"
        );
        assert!(
            (harq.mean_sent - sent).abs() < 4.5 * 12.0 / root,
            "{sent} {harq:?}"
        );
        assert!(
            (harq.rounds_waited - waited).abs() < 4.5 / root,
            "{waited} {harq:?}"
        );
        for (found, expected) in decoded.iter().zip(&harq.decode) {
            assert!(
                (found - expected).abs() < 4.5 * 0.5 / root,
                "{decoded:?} {harq:?}"
            );
        }
    }
}

#[test]
fn without_rounds_it_is_the_code_alone() {
    let code = code(0.97, 0.8, 10, 3);
    let harq = Harq::new(
        &code,
        Repeats {
            extra: 4,
            rounds: 0,
        },
    );
    let block = code.block();
    assert!((harq.mean_useful - 10.0 * block.decode - block.kept).abs() < 1e-14);
    assert!((harq.mean_sent - 13.0).abs() < 1e-14);
    assert!((harq.residual_loss - block.lost / 10.0).abs() < 1e-15);
}

fn code_of_one(p: f64) -> Code {
    Code {
        chain: Chain::memoryless(p).unwrap(),
        data: 1,
        repair: 0,
    }
}

#[test]
fn rare_losses_keep_their_precision() {
    let harq = Harq::new(
        &code_of_one(1e-9),
        Repeats {
            extra: 0,
            rounds: 9,
        },
    );
    assert!((harq.residual_loss / 1e-90 - 1.0).abs() < 1e-12);
    assert!((harq.decode[9] / 1e-81 - 1.0).abs() < 1e-8);
}

proptest! {
    #[test]
    fn the_law_of_what_is_sent_has_its_mean(
        alpha in 0.0..0.99f64, beta in 0.0..0.99f64, data in 1usize..12, repair in 0usize..5,
        extra in 0usize..4, rounds in 0usize..5,
    ) {
        let code = code(alpha, beta, data, repair);
        let repeats = Repeats { extra, rounds };
        let harq = Harq::new(&code, repeats);
        let law = sent_law(&code, repeats).unwrap();
        let total: f64 = law.iter().map(|(_, p)| p).sum();
        let mean: f64 = law.iter().map(|(j, p)| crate::types::to_f64(*j) * p).sum();
        prop_assert!((total - 1.0).abs() < 1e-12);
        prop_assert!((mean / harq.mean_sent - 1.0).abs() < 1e-12);
        let lost = harq.mean_useful + harq.residual_loss * of(data);
        prop_assert!((lost - of(data)).abs() < 1e-10);
    }
}
