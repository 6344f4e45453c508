use proptest::prelude::*;

use super::super::environment::{Environment, Lutz};
use super::*;

const LUTZ: &str =
    "lutz:rice-factor=10dB/bad-mean=-12dB/bad-deviation=4dB/good=90m/bad=30m/correlation=5m";

fn sequence(name: &str, elevation_deg: f64) -> Sequence {
    if let Ok(lutz) = name.parse::<Lutz>() {
        return lutz.environment().sequence;
    }
    Environment::nearest(name, elevation_deg).unwrap().sequence
}

/// Arithmetic of the published tables.
#[test]
fn shares_and_sojourns_follow_from_the_tables() {
    for (name, shares, sojourns_m) in [
        ("open", [0.5731, 0.3627, 0.0642], [189.4, 114.9, 69.9]),
        ("suburban", [0.5475, 0.3893, 0.0632], [28.52, 18.47, 10.59]),
        (
            "intermediate-tree",
            [0.4231, 0.3846, 0.1923],
            [22.44, 23.07, 16.41],
        ),
        ("heavy-tree", [0.0, 0.5161, 0.4839], [0.0, 64.8, 60.7]),
    ] {
        let sequence = sequence(name, 40.0);
        for state in 0..3 {
            assert!(
                (sequence.shares()[state] - shares[state]).abs() < 1e-4,
                "{name}"
            );
            let mean = sequence.mean_sojourns_m()[state];
            assert!((mean - sojourns_m[state]).abs() < 0.06, "{name} {mean}");
        }
    }
    for (name, elevation_deg, bad_share, sojourns_m) in [
        ("p681:suburban", 30.0, 0.1977, [73.9, 18.2]),
        ("p681:suburban", 45.0, 0.0267, [536.6, 14.7]),
        ("p681:urban", 45.0, 0.2711, [132.3, 49.2]),
        ("p681:village", 45.0, 0.1247, [75.4, 10.7]),
    ] {
        let sequence = sequence(name, elevation_deg);
        assert!((sequence.shares()[1] - bad_share).abs() < 1e-4, "{name}");
        for (mean, published) in sequence.mean_sojourns_m().iter().zip(sojourns_m) {
            assert!((mean - published).abs() < 0.06, "{name} {mean}");
        }
    }
}

/// Share of the distance in each state, and number of sojourns, over `way_m`.
fn observed(sequence: Sequence, way_m: f64) -> ([f64; 3], [f64; 3]) {
    let (mut shares, mut visits) = ([0.0; 3], [0.0; 3]);
    States::new(sequence, 1.0, 5, 0).within(0.0, way_m, |sojourn| {
        shares[sojourn.state] += (sojourn.end_m.min(way_m) - sojourn.start_m) / way_m;
        visits[sojourn.state] += 1.0;
        assert!(sojourn.transition_m <= sojourn.end_m - sojourn.start_m + 1e-6);
    });
    (shares, visits)
}

#[test]
fn a_long_way_has_the_shares_and_sojourns() {
    let way_m = 1e6;
    for set in Environment::all() {
        // Good sojourns of up to kilometres leave too few events.
        if set.elevation_deg > Some(65.0) {
            continue;
        }
        let (shares, visits) = observed(set.sequence, way_m);
        for state in 0..3 {
            let expected = set.sequence.shares()[state];
            assert!(
                (shares[state] - expected).abs() < 0.03,
                "{} {shares:?}",
                set.name
            );
            if expected > 0.0 {
                let mean = shares[state] * way_m / visits[state];
                let published = set.sequence.mean_sojourns_m()[state];
                assert!(
                    (mean / published - 1.0).abs() < 0.1,
                    "{} {state} {mean} {published}",
                    set.name
                );
            }
        }
    }
}

/// Row urban 45 of docs/channels.md, Sec. 3, and normal quantiles from tables: 1.6449 for .95, 1.2816 for .9.
#[test]
fn the_triplet_of_an_event_follows_its_lines_between_the_quantiles() {
    let Sequence::Events {
        states: [good, bad],
        transition,
    } = sequence("p681:urban", 45.0)
    else {
        panic!("not of two states")
    };
    for (state, draw, direct_db, lines) in [
        (
            good,
            0.0,
            -1.8225 - 1.6449 * 1.1317,
            [-0.4643, 0.3334, -0.0481, -14.7450],
        ),
        (
            good,
            1.0,
            -1.8225 + 1.6449 * 1.1317,
            [-0.4643, 0.3334, -0.0481, -14.7450],
        ),
        (
            bad,
            0.0,
            -15.4844 - 1.2816 * 3.3245,
            [-0.0798, 2.8101, 0.9434, -1.7555],
        ),
        (bad, 0.5, -15.4844, [-0.0798, 2.8101, 0.9434, -1.7555]),
        (
            bad,
            1.0,
            -15.4844 + 1.2816 * 3.3245,
            [-0.0798, 2.8101, 0.9434, -1.7555],
        ),
    ] {
        let found = state.loo(draw);
        let [g1, g2, h1, h2] = lines;
        assert!((found.direct_db - direct_db).abs() < 1e-3, "{found:?}");
        let shadowing_db = (g1 * direct_db + g2).max(0.0);
        assert!(
            (found.shadowing_db - shadowing_db).abs() < 1e-3,
            "{found:?}"
        );
        let multipath_db = h1 * direct_db + h2;
        assert!(
            (found.multipath_db - multipath_db).abs() < 1e-3,
            "{found:?}"
        );
    }
    // The line of Sigma_A falls below zero here: -0.361 M_A - 0.119 at M_A = -2.32 + 1.2816 * 2.06.
    let Sequence::Events { states, .. } = sequence("p681:residential", 60.0) else {
        panic!("not of two states")
    };
    assert!(states[1].loo(1.0).shadowing_db.abs() < 1e-12);

    // Transitions are within the new sojourn, and last f1 |change of M_A| + f2.
    let [f1, f2] = transition;
    let mut of_full_length = 0;
    States::new(sequence("p681:urban", 45.0), 1.0, 9, 0).within(0.0, 20_000.0, |sojourn| {
        let change_db = (sojourn.loo.direct_db - sojourn.before.direct_db).abs();
        let full_m = f1 * change_db + f2;
        let length_m = sojourn.end_m - sojourn.start_m;
        if sojourn.number > 0 {
            assert!((sojourn.transition_m - full_m.min(length_m)).abs() < 1e-9);
            of_full_length += u32::from(full_m < length_m);
        }
    });
    assert!(of_full_length > 100, "{of_full_length}");
}

#[test]
fn the_first_state_is_met_by_its_share() {
    for (name, elevation_deg) in [("suburban", 40.0), ("p681:urban", 45.0), (LUTZ, 0.0)] {
        let sequence = sequence(name, elevation_deg);
        let firsts = |seed| States::new(sequence, 1.0, seed, 0).place;
        let mut count = [0.0; 3];
        let mut rest_m = 0.0;
        for seed in 0..4000 {
            let place = firsts(seed);
            count[place.state] += 1.0 / 4000.0;
            rest_m += if place.state == 1 { place.end_m } else { 0.0 };
        }
        for state in 0..3 {
            // Standard error below 0.008.
            assert!(
                (count[state] - sequence.shares()[state]).abs() < 0.03,
                "{name} {count:?}"
            );
        }
        // Remainder of a sojourn met at a random time: E[x²]/(2 E[x]), more than half the mean.
        let rest_m = rest_m / (4000.0 * count[1]);
        let mean = sequence.mean_sojourns_m()[1];
        assert!(
            rest_m > 0.6 * mean && rest_m < 4.0 * mean,
            "{name} {rest_m} {mean}"
        );
    }
}

#[test]
fn deep_shadow_scales_how_often_the_deepest_state_is_entered() {
    for (name, elevation_deg, deep) in [
        ("suburban", 40.0, 2),
        ("p681:village", 45.0, 1),
        (LUTZ, 0.0, 1),
    ] {
        let published = sequence(name, elevation_deg);
        assert_eq!(published.with_deep_shadow(1.0), Some(published));
        assert_eq!(published.with_deep_shadow(f64::NAN), None);
        let quarter = published.with_deep_shadow(0.25).unwrap();
        let (before, after) = (observed(published, 3e6), observed(quarter, 3e6));
        // Visits for each metre outside the deepest state.
        let entered = |(shares, visits): ([f64; 3], [f64; 3])| visits[deep] / (1.0 - shares[deep]);
        let factor = entered(after) / entered(before);
        assert!((factor - 0.25).abs() < 0.02, "{name} {factor}");
        let length = |(shares, visits): ([f64; 3], [f64; 3])| shares[deep] / visits[deep];
        assert!(
            (length(after) / length(before) - 1.0).abs() < 0.06,
            "{name}"
        );
    }
    let never = sequence("suburban", 40.0).with_deep_shadow(0.0).unwrap();
    assert!(observed(never, 1e5).1[2] == 0.0 && never.shares()[2] == 0.0);
    assert_eq!(sequence("p681:urban", 45.0).with_deep_shadow(0.0), None);
    assert_eq!(sequence(LUTZ, 0.0).with_deep_shadow(0.0), None);
    assert_eq!(sequence("suburban", 40.0).with_deep_shadow(1000.0), None);
}

proptest! {
    /// Compared with all sojourns in one call; the way is longer than a checkpoint interval.
    #[test]
    fn any_window_shows_the_same_sequence(
        seed: u64,
        windows in prop::collection::vec((0.0..10_000.0f64, 0.0..3000.0f64), 1..6),
        name in prop::sample::select(&["suburban", "p681:urban", LUTZ][..]),
    ) {
        let sequence = sequence(name, 40.0);
        let mut all = Vec::new();
        States::new(sequence, 1.0, seed, 0).within(0.0, 13_000.0, |sojourn| all.push(*sojourn));
        let mut states = States::new(sequence, 1.0, seed, 0);
        for (from_m, length_m) in windows {
            let to_m = from_m + length_m;
            let mut found = Vec::new();
            states.within(from_m, to_m, |sojourn| found.push(*sojourn));
            let overlaps = |sojourn: &&Sojourn| sojourn.end_m > from_m && (sojourn.start_m < to_m || sojourn.start_m <= from_m);
            let expected: Vec<Sojourn> = all.iter().filter(overlaps).copied().collect();
            prop_assert_eq!(found, expected);
        }
    }
}
