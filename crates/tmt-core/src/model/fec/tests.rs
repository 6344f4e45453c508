use proptest::prelude::*;

use super::*;

fn bursty(alpha: f64, beta: f64, data: usize, repair: usize) -> Code {
    Code {
        chain: Chain::new(alpha, beta, 0.0, 1.0).unwrap(),
        data,
        repair,
    }
}

/// Outcome and recovery of a codeword, by enumeration of all patterns of erasures.
fn by_force(code: &Code) -> (Block, Recovery) {
    let (data, units) = (code.data, code.units());
    let chain = code.chain;
    let (mut decode, mut fail, mut lost, mut kept) = (0.0, 0.0, 0.0, 0.0);
    let (mut hit, mut recovered, mut end, mut enough) = (0.0, 0.0, 0.0, 0.0);
    for pattern in 0..1u32 << units {
        let erased = |k: usize| pattern >> k & 1 == 1;
        // Forward over the states.
        let [mut good, mut bad] = chain.stationary();
        for k in 0..units {
            let [pg, pb] = chain.erasing();
            let (g, b) = if erased(k) {
                (good * pg, bad * pb)
            } else {
                (good * (1.0 - pg), bad * (1.0 - pb))
            };
            good = g * chain.alpha() + b * (1.0 - chain.beta());
            bad = g * (1.0 - chain.alpha()) + b * chain.beta();
        }
        let chance = good + bad;
        let gone = (0..data).filter(|k| erased(*k)).count();
        let through: Vec<usize> = (0..units).filter(|k| !erased(*k)).collect();
        hit += chance * of(gone);
        if through.len() >= data {
            decode += chance;
            recovered += chance * of(gone);
            for k in (0..data).filter(|k| erased(*k)) {
                end += chance * of(units - 1 - k);
                enough += chance * of(through[data - 1] - k);
            }
        } else {
            fail += chance;
            lost += chance * of(gone);
            kept += chance * of(data - gone);
        }
    }
    let block = Block {
        decode,
        fail,
        lost,
        kept,
    };
    let recovery = Recovery {
        given_erased: recovered / hit,
        until_end: end / of(data),
        until_enough: enough / of(data),
    };
    (block, recovery)
}

fn close(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-12 * expected.abs() + 1e-15
}

#[test]
fn the_sums_are_those_over_every_pattern_of_erasures() {
    for (alpha, beta, pg, pb, data, repair) in [
        (0.99, 0.8, 0.0, 1.0, 10, 2),
        (0.7, 0.6, 0.05, 0.8, 7, 4),
        (0.2, 0.3, 0.0, 1.0, 3, 3),
        (0.9, 0.1, 0.2, 1.0, 1, 0),
        (0.9, 0.5, 0.0, 1.0, 6, 0),
        (0.5, 0.5, 0.0, 1.0, 2, 9),
    ] {
        let chain = Chain::new(alpha, beta, pg, pb).unwrap();
        let code = Code {
            chain,
            data,
            repair,
        };
        let (block, recovery) = by_force(&code);
        let (found, when) = (code.block(), code.recovery());
        for (found, expected) in [
            (found.decode, block.decode),
            (found.fail, block.fail),
            (found.lost, block.lost),
            (found.kept, block.kept),
            (when.given_erased, recovery.given_erased),
            (when.until_end, recovery.until_end),
            (when.until_enough, recovery.until_enough),
        ] {
            assert!(close(found, expected), "{code:?}: {found} for {expected}");
        }
    }
}

#[test]
fn independent_erasures_make_all_ways_of_counting_equal() {
    let code = bursty(0.9, 0.1, 10, 3);
    let (block, products) = (code.block(), code.block_of_products());
    assert!(close(block.decode, products.decode));
    assert!(close(block.lost, products.lost));
    // P(recovered | erased) is then P(at most NR − 1 of the other N − 1).
    assert!(close(code.recovery().given_erased, code.printed_recovery()));
    let by_count = efficiency_by_count(&code, block.decode);
    let eta = (10.0 * block.decode + block.kept) / 13.0;
    // eta_count also counts repair LLDUs that are received in a codeword that fails.
    assert!(by_count > eta && by_count < eta + 0.01);
}

#[test]
fn rare_losses_keep_their_precision() {
    let code = Code {
        chain: Chain::memoryless(1e-9).unwrap(),
        data: 10,
        repair: 2,
    };
    // Three of twelve, a quarter of them repair: 220 p^3, with 3 · 10/12 data LLDUs.
    let block = code.block();
    assert!((block.fail / (220.0 * 1e-27) - 1.0).abs() < 2e-8);
    assert!((block.lost / (220.0 * 1e-27 * 2.5) - 1.0).abs() < 2e-8);
}

#[test]
fn without_erasures_recovery_is_its_limit() {
    let recovered = |text: &str| {
        let outcome = MODEL.run(text).unwrap();
        outcome.get("p_recover_given_erased").unwrap()
    };
    assert!((recovered("alpha=1") - recovered("alpha=0.999999999999")).abs() < 1e-9);
}

proptest! {
    #[test]
    fn what_is_sent_is_delivered_or_lost(
        alpha in 0.0..1.0f64, beta in 0.0..1.0f64, pg in 0.0..1.0f64, pb in 0.0..1.0f64,
        data in 1usize..40, repair in 0usize..20, depth in 1u64..9,
    ) {
        let chain = Chain::new(alpha, beta, pg, pb).unwrap().interleaved(depth);
        let code = Code { chain, data, repair };
        let block = code.block();
        prop_assert!((block.decode + block.fail - 1.0).abs() < 1e-12);
        prop_assert!((of(data) * block.decode + block.kept + block.lost - of(data)).abs() < 1e-10);
        let erased = of(data) * chain.erasure_probability();
        let recovered = code.recovery().given_erased * erased;
        prop_assert!((recovered + block.lost - erased).abs() < 1e-10);
        let recovery = code.recovery();
        prop_assert!(recovery.until_enough <= recovery.until_end + 1e-12);
    }
}
