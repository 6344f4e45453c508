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
fn the_published_figures_are_met() {
    // K4: (10/12), alpha = .99, beta = .8.
    let code = bursty(0.99, 0.8, 10, 2);
    assert!((code.printed_recovery() - 0.8945).abs() < 5e-5);
    assert!((code.recovery().given_erased - 0.1320).abs() < 5e-5);
    // Reference values: ND = 38, NR = 13.
    for (beta, eta) in [
        (0.1, 0.7451),
        (0.5, 0.7448),
        (0.8, 0.7222),
        (0.9, 0.6596),
        (0.93, 0.6119),
    ] {
        let code = bursty(0.98, beta, 38, 13);
        let block = code.block();
        let found = (38.0 * block.decode + block.kept) / 51.0;
        assert!((found - eta).abs() < 5e-5, "{beta}: {found}");
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
    // Three of twelve, a quarter of them repair: 220 p^3 of which 3 · 10/12 data LLDUs.
    let block = code.block();
    assert!((block.fail / (220.0 * 1e-27) - 1.0).abs() < 2e-8);
    assert!((block.lost / (220.0 * 1e-27 * 2.5) - 1.0).abs() < 2e-8);
}

#[test]
fn without_erasures_the_limit_is_returned_with_a_remark() {
    let none = MODEL
        .evaluate(&MODEL.arguments([("alpha", "1")]).unwrap())
        .unwrap();
    let rare = MODEL
        .evaluate(&MODEL.arguments([("alpha", "0.999999999999")]).unwrap())
        .unwrap();
    let name = "p_recover_given_erased";
    assert!((none.get(name).unwrap() - rare.get(name).unwrap()).abs() < 1e-9);
    assert_eq!(none.remarks().len(), 1);
    assert!(close(none.get("delay_exact").unwrap(), 0.25));
    // No state erases anything.
    for pairs in [
        [("pb", "0"), ("alpha", "0.9")],
        [("pb", "0"), ("alpha", "1")],
    ] {
        let outcome = MODEL.evaluate(&MODEL.arguments(pairs).unwrap()).unwrap();
        assert!(close(outcome.get(name).unwrap(), 1.0));
        assert!(close(outcome.get("eta").unwrap(), 10.0 / 12.0));
    }
    // Everything is erased.
    let all = MODEL
        .evaluate(&MODEL.arguments([("beta", "1")]).unwrap())
        .unwrap();
    assert!(close(all.get("residual_loss").unwrap(), 1.0));
    assert_eq!(all.get("eta"), Some(0.0));
}

#[test]
fn long_codewords_are_within_reach() {
    let pairs = [("nd", "8000"), ("nr", "2000")];
    let outcome = MODEL.evaluate(&MODEL.arguments(pairs).unwrap()).unwrap();
    assert!(close(outcome.get("eta").unwrap(), 0.8));
    let pairs = [("nd", "60000"), ("nr", "20000")];
    assert!(MODEL.evaluate(&MODEL.arguments(pairs).unwrap()).is_err());
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
