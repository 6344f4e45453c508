use tmt_core::model::ser::{Burst, Interleaver, Outer};

use super::*;

const FAMILIES: [&str; 5] = ["conv", "rs", "erasure", "rsconv", "erconv"];

fn goodput(text: &str) -> f64 {
    MODEL.run(text).unwrap().get("goodput").unwrap()
}

#[test]
fn the_order_is_the_papers() {
    // Celandroni 2006, Sec. IV.B: concatenated Reed-Solomon codes are best at low C/N0, erasure codes worst.
    let at = |family: &str, cn0: u32| goodput(&format!("tg=hybrid family={family} cn0_db={cn0}"));
    for family in ["conv", "rs", "erasure", "erconv"] {
        assert!(at("rsconv", 66) > at(family, 66));
        assert!(at("erasure", 66) <= at(family, 66));
    }
    assert!(at("rs", 66) < at("conv", 66) && at("rs", 74) > at("conv", 74));
}

fn path(law: Law, connections: f64, links: Links) -> Path {
    Path {
        tau: 0.5,
        beta: 0.8,
        per_ack: 2.0,
        timeout: 1.0,
        law,
        connections,
        links,
    }
}

fn choice(family: Family, set: Set, strict: bool) -> Choice {
    Choice {
        family,
        set,
        burst: Burst::Errors,
        interleaver: Interleaver::Ideal,
        strict,
    }
}

#[test]
fn skipping_candidates_by_bounds_changes_nothing() {
    let families = [
        Family::Conv,
        Family::ReedSolomon,
        Family::Erasure,
        Family::ErasureConv,
    ];
    let (one, shared, separate) = (
        (1.0, Links::Shared),
        (8.0, Links::Shared),
        (8.0, Links::Separate),
    );
    for law in [Law::Relation15, Law::Tgep, Law::Hybrid] {
        for (connections, links) in [one, separate] {
            let path = path(law, connections, links);
            for family in families {
                let codes = candidates(&choice(family, Set::Basic, false));
                for cn0_db in [60.0, 66.0, 67.3, 71.0, 76.5] {
                    skips_nothing(&path, &codes, cn0_db);
                }
            }
        }
        let (connections, links) = shared;
        let codes = candidates(&choice(Family::Conv, Set::Basic, false));
        for cn0_db in [60.0, 67.3] {
            skips_nothing(&path(law, connections, links), &codes, cn0_db);
        }
    }
}

fn skips_nothing(path: &Path, codes: &[Candidate], cn0_db: f64) {
    let carrier = Carrier {
        cn0_db,
        bits: 1.0,
        symbols: 2e6,
        part: 0.5,
    };
    let (place, found) = best(&carrier, codes, path).unwrap().unwrap();
    let mut plain: Option<(usize, f64)> = None;
    for bits in [1.0, 2.0] {
        for (at, code) in codes.iter().enumerate() {
            let carrier = Carrier { bits, ..carrier };
            let bits = with_code(&code.code, &carrier, path).unwrap().bits();
            if plain.is_none_or(|(_, most)| bits > most) {
                plain = Some((at, bits));
            }
        }
    }
    let (at, bits) = plain.unwrap();
    assert_eq!(place, at, "{path:?} {cn0_db}");
    assert!((found.bits() - bits).abs() <= 1e-9 * bits);
}

#[test]
fn tgep_stays_below_its_bound() {
    for connections in [1.0, 8.0] {
        let path = path(Law::Tgep, connections, Links::Shared);
        for mu in [1.0, 10.0, 100.0, 1000.0] {
            for exponent in 0..30 {
                let q = tmt_core::math::num::pow(10.0, -f64::from(exponent) / 3.0);
                let found = path.goodput(mu, q).unwrap();
                assert!(found <= path.bound(mu, q), "{connections} {mu} {q}");
            }
        }
    }
}

#[test]
fn envelope_is_the_best_of_single_codes() {
    let mut most: f64 = 0.0;
    for modulation in ["bpsk", "qpsk"] {
        for rate in ["1/2", "2/3", "3/4", "5/6", "7/8"] {
            for k in [
                "rsconv n=255",
                "rsconv n=239",
                "rs n=255",
                "rs n=239",
                "uncoded",
            ] {
                let text = format!(
                    "cn0_db=68 modulation={modulation} scheme={k} rate={rate} interleaver=none"
                );
                most = most.max(SINGLE.run(&text).unwrap().get("goodput").unwrap());
            }
        }
    }
    let all = goodput("cn0_db=68 family=rsconv set=paper interleaver=none");
    assert!((all / most - 1.0).abs() < 1e-12, "{all} {most}");
}

#[test]
fn connections_on_separate_links_are_one_on_a_smaller_link() {
    for tg in ["rel15", "tgep", "hybrid"] {
        for cn0 in [66.0, 70.0, 76.0] {
            let all = goodput(&format!(
                "connections=8 links=separate tg={tg} cn0_db={cn0}"
            ));
            let of_one = cn0 - tmt_core::math::num::log10(8.0) * 10.0;
            let one = goodput(&format!("tg={tg} cn0_db={of_one} symrate=2.5e5"));
            assert!(
                (all / one / 8.0 - 1.0).abs() < 1e-9,
                "{tg} {cn0}: {all} {one}"
            );
        }
    }
}

#[test]
fn eight_connections_gain_wherever_they_share_or_not() {
    // Celandroni 2006, Sec. IV.C, for a buffer of 0.8 or more.
    for cn0 in [66, 70, 74, 78] {
        let at = |more: &str| goodput(&format!("tg=hybrid cn0_db={cn0} {more}"));
        let (one, shared) = (at(""), at("connections=8"));
        let separate = at("connections=8 links=separate");
        assert!(shared > one * 0.99, "{cn0}: {shared} {one}");
        let part = separate / shared;
        assert!((0.85..1.02).contains(&part), "{cn0}: {part}");
    }
}

#[test]
fn the_paper_s_set_has_the_basic_codes_that_exist() {
    for family in [
        Family::Conv,
        Family::ReedSolomon,
        Family::Erasure,
        Family::ReedSolomonConv,
        Family::ErasureConv,
    ] {
        let wide = candidates(&choice(family, Set::Paper, false));
        for basic in candidates(&choice(family, Set::Basic, true)) {
            assert!(wide.contains(&basic), "{}", basic.name);
        }
        let bits = |code: &Candidate| code.code.segment_bits();
        assert!(
            wide.iter()
                .all(|code| (bits(code) - bits(&wide[0])).abs() < 1e-9)
        );
    }
}

#[test]
fn more_signal_is_never_worse() {
    for family in FAMILIES {
        for tg in ["rel15", "tgep", "hybrid"] {
            let mut last = 0.0;
            for step in 0..30 {
                let cn0 = 60.0 + 0.7 * f64::from(step);
                let found = goodput(&format!("family={family} tg={tg} cn0_db={cn0}"));
                // The hybrid has a step at its threshold: (15) just below is not the half that TGEP gives.
                let slack = if tg == "hybrid" { 0.1 } else { 1e-4 };
                assert!(found >= last * (1.0 - slack), "{family} {tg} {cn0}");
                last = found;
            }
        }
    }
}

#[test]
fn strict_omits_codes_that_do_not_exist() {
    let lists =
        [false, true].map(|strict| candidates(&choice(Family::ReedSolomon, Set::Basic, strict)));
    assert_eq!(lists.each_ref().map(Vec::len), [8, 6]);
    assert!(lists[1].iter().all(|code| match code.code.outer {
        Outer::ReedSolomon { n, .. } => n <= 255,
        _ => true,
    }));
}

#[test]
fn ends_of_the_domain_have_limits() {
    for family in FAMILIES {
        for tg in ["rel15", "tgep", "hybrid"] {
            let found = goodput(&format!("family={family} tg={tg} cn0_db=-100"));
            assert!((0.0..1e3).contains(&found), "{found}");
            let found = goodput(&format!("family={family} tg={tg} cn0_db=300"));
            assert!((1.9e6..=2e6).contains(&found), "{found}");
        }
    }
    assert!(goodput("symrate=1e-3 tg=hybrid") >= 0.0);
    assert!(goodput("symrate=1e12 cn0_db=130 tg=hybrid") >= 0.0);
}
