use proptest::prelude::*;
use tmt_core::math::num::{ln, powi};
use tmt_core::math::rng::{Stream, Uniform};

use super::*;
use crate::model::tests::{agree, prints};

/// The scenario of Barakat 2004, Sec. 3.
const PAPER: Hybrid = Hybrid {
    connections: 10.0,
    rate: 10_000.0,
    delay: 0.2,
    elsewhere: 0.08,
    loss: 0.01,
    frames: 6,
    data: 10,
    sent: 10,
    persistency: 3,
    delayed: 2.0,
    resequencing: Resequencing::FirstOrder,
    bdp: Bdp::Medium,
    nacks: Nacks::Paper,
};

fn percent(hybrid: Hybrid) -> f64 {
    100.0 * hybrid.solve().unwrap().throughput / hybrid.rate
}

#[test]
fn the_best_length_of_a_frame_is_as_published() {
    // Fig. 3, δ = 0.
    for (delay, best) in [(0.02, 11), (0.1, 12), (0.2, 12)] {
        let with = |sent: u64| {
            percent(Hybrid {
                delay,
                sent,
                persistency: 0,
                ..PAPER
            })
        };
        let most = (10..20).max_by(|a, b| with(*a).total_cmp(&with(*b)));
        assert_eq!(most, Some(best));
        // Above the best N it falls as K/N.
        agree(with(19) / with(15), 15.0 / 19.0, 1e-4);
    }
}

#[test]
fn redundancy_does_not_pay_where_losses_are_rare() {
    for persistency in 1..6 {
        let hybrid = Hybrid {
            loss: 0.001,
            persistency,
            ..PAPER
        };
        assert!(percent(Hybrid { sent: 11, ..hybrid }) < percent(hybrid));
    }
}

#[test]
fn the_rate_is_a_fixed_point() {
    for resequencing in [
        Resequencing::Off,
        Resequencing::FirstOrder,
        Resequencing::Exact,
    ] {
        for bdp in [Bdp::Medium, Bdp::Large] {
            for nacks in [Nacks::Paper, Nacks::Exact] {
                for (loss, persistency) in [
                    (1e-9, 0),
                    (1e-4, 1),
                    (0.01, 0),
                    (0.01, 2),
                    (0.1, 4),
                    (0.6, 30),
                ] {
                    let hybrid = Hybrid {
                        loss,
                        persistency,
                        resequencing,
                        bdp,
                        nacks,
                        ..PAPER
                    };
                    let found = hybrid.solve().unwrap();
                    let again = crate::model::pftk::sending_rate(
                        found.packet_loss,
                        found.ordered_round_trip,
                        60.0,
                        2.0,
                    );
                    agree(found.packets * 6.0, again, 1e-13);
                    // The definitions, one by one (docs/models.md, Sec. 5.2).
                    let share = 10.0 * found.connection / (found.useful * 10_000.0);
                    agree(found.busy, share.min(1.0), 1e-12);
                    let through = Probability::new(found.frame_loss).not().all(6.0).yes;
                    agree(found.connection, 6.0 * found.packets * through, 1e-9);
                    let on_link = found.round_trip - 0.08 - 0.2;
                    agree(found.load, found.packets * on_link, 1e-10);
                    let wait = resequencing.delay(found.load) * on_link;
                    agree(found.ordered_round_trip, found.round_trip + wait, 1e-13);
                    agree(
                        found.throughput,
                        (found.useful * 10_000.0).min(10.0 * found.connection),
                        1e-14,
                    );
                }
            }
        }
    }
}

/// Random numbers for tests.
pub(super) struct Numbers(Uniform, u64);

impl Numbers {
    pub(super) fn new(seed: u64) -> Self {
        Self(Uniform::new(seed, Stream::ChannelErasure), 0)
    }

    fn next(&mut self) -> f64 {
        self.1 += 1;
        self.0.at(self.1)
    }

    pub(super) fn exponential(&mut self, mean: f64) -> f64 {
        -mean * ln(1.0 - self.next())
    }

    /// Number of rounds of a frame; `None` if it is lost after all of them.
    fn repeats(&mut self, loss: f64, persistency: u64) -> Option<u64> {
        (0..=persistency).find(|_| self.next() >= loss)
    }
}

#[test]
fn rounds_agree_with_simulated_frames() {
    // B3: (10) by simulation, given that all frames of the packet arrive.
    for (loss, persistency, frames) in [(0.3, 2, 6), (0.5, 4, 3), (0.1, 1, 10), (0.7, 3, 6)] {
        let mut numbers = Numbers::new(1);
        let (mut most, mut last, mut packets) = (0.0, 0.0, 0.0);
        let mut single = (0.0, 0.0);
        for _ in 0..60_000 {
            let drawn: Option<Vec<u64>> = (0..frames)
                .map(|_| numbers.repeats(loss, persistency))
                .collect();
            let Some(drawn) = drawn else { continue };
            let m = *drawn.iter().max().unwrap();
            let y = drawn.iter().rposition(|repeats| *repeats == m).unwrap() + 1;
            packets += 1.0;
            most += to_f64(m);
            let y = to_f64(u64::try_from(y).unwrap());
            last += y;
            if drawn.iter().filter(|repeats| **repeats == m).count() == 1 {
                single = (single.0 + y, single.1 + 1.0);
            }
        }
        let found = repeats(Probability::new(loss), persistency, frames);
        agree(most / packets, found.most, 0.015);
        agree(last / packets, found.last, 0.015);
        if frames == 6 && persistency == 2 {
            // B2: the position of the single frame with the maximum is uniform: (X+1)/2, not (X−1)/2.
            agree(single.0 / single.1, 3.5, 0.015);
        }
    }
}

#[test]
fn the_round_trip_agrees_with_simulated_frames() {
    // (7): the last frame to arrive, each sent N/B after the previous one; hardly any load, no NACK in between.
    for (bdp, loss, data, persistency) in [
        (Bdp::Medium, 0.3, 2, 3),
        (Bdp::Medium, 0.05, 10, 2),
        (Bdp::Large, 0.3, 2, 3),
    ] {
        let hybrid = Hybrid {
            connections: 1e-12,
            loss,
            data,
            sent: data + 1,
            persistency,
            bdp,
            ..PAPER
        };
        let found = hybrid.solve().unwrap();
        let frame = if bdp == Bdp::Medium {
            hybrid.frame_time()
        } else {
            0.0
        };
        let tau = 2.0 * hybrid.delay + frame;
        let mut numbers = Numbers::new(6);
        let (mut sum, mut packets) = (0.0, 0.0);
        for _ in 0..40_000 {
            let drawn: Option<Vec<u64>> = (0..hybrid.frames)
                .map(|_| numbers.repeats(found.transmission_loss, persistency))
                .collect();
            let Some(drawn) = drawn else { continue };
            let arrivals = (1..)
                .zip(&drawn)
                .map(|(i, repeats)| f64::from(i) * frame + to_f64(*repeats) * tau);
            sum += hybrid.elsewhere + 2.0 * hybrid.delay + arrivals.fold(0.0, f64::max);
            packets += 1.0;
        }
        agree(sum / packets, found.round_trip, 0.01);
    }
}

#[test]
fn rounds_agree_with_the_printed_sums() {
    // (8)–(10) as printed, X (δ+1−E[M]) − Σ F_{k−1} Σ_j F_k^j F_{k−1}^(X−1−j); differences are precise for these values.
    for (loss, persistency, frames) in [
        (0.3, 2, 6),
        (0.01, 5, 6),
        (0.9, 40, 1),
        (0.5, 9, 33),
        (0.2, 0, 4),
    ] {
        let down = |k: u64| powi(loss, k);
        let at_most = |k: u64| (1.0 - down(k + 1)) / (1.0 - down(persistency + 1));
        let most: f64 = (0..persistency)
            .map(|k| 1.0 - powi(at_most(k), frames))
            .sum();
        let mut last = to_f64(frames) * (to_f64(persistency) + 1.0 - most);
        for k in 1..=persistency {
            let (now, before) = (at_most(k), at_most(k - 1));
            let inner: f64 = (0..frames)
                .map(|j| powi(now, j) * powi(before, frames - 1 - j))
                .sum();
            last -= before * inner;
        }
        let found = repeats(Probability::new(loss), persistency, frames);
        assert!((found.most - most).abs() < 1e-12 * (1.0 + most));
        agree(found.last, last, 1e-11);
    }
}

#[test]
fn rounds_have_their_limits() {
    // Nothing fails: the last frame without a repeat is the last frame.
    let found = repeats(Probability::new(0.0), 7, 6);
    assert!(found.most.abs() < f64::MIN_POSITIVE);
    agree(found.last, 6.0, 1e-15);
    // Rare failures are precise: E[M] = X P_T (1 − …).
    let found = repeats(Probability::new(1e-12), 3, 6);
    agree(found.most, 6e-12, 1e-11);
    // Everything fails: given that all frames arrive, all numbers of rounds are equally likely.
    let found = repeats(Probability { yes: 1.0, no: 0.0 }, 1000, 1);
    agree(found.most, 500.0, 1e-12);
    agree(found.last, 1.0, 1e-12);
    // Large numbers of rounds are hardly ever equal: the position of the maximum is uniform.
    let found = repeats(Probability::new(1.0 - 1e-9), 10_000, 5);
    agree(found.most, 10_000.0 * 5.0 / 6.0, 1e-3);
    agree(found.last, 3.0, 1e-3);
}

#[test]
fn retried_transmissions_are_counted() {
    // B5 at P_T = .3, δ = 2: exact .2806, printed .2910. K = N = 1 gives P_T = p.
    let counted = |nacks| {
        let one = Hybrid {
            loss: 0.3,
            data: 1,
            sent: 1,
            persistency: 2,
            nacks,
            ..PAPER
        };
        one.fixed().nack
    };
    prints(counted(Nacks::Paper), 0.2910, 4);
    let exact = counted(Nacks::Exact);
    prints(exact, 0.2806, 4);
    let mut numbers = Numbers::new(2);
    let (mut sent, mut retried) = (0.0, 0.0);
    for _ in 0..100_000 {
        let repeats = numbers.repeats(0.3, 2);
        sent += 1.0 + to_f64(repeats.unwrap_or(2));
        retried += to_f64(repeats.unwrap_or(2));
    }
    agree(retried / sent, exact, 0.01);
}

#[test]
fn the_share_of_useful_data_agrees_with_simulated_frames() {
    // (6) as a ratio of means: data of complete packets over units sent, at most δ rounds.
    let hybrid = Hybrid {
        loss: 0.08,
        sent: 11,
        persistency: 1,
        ..PAPER
    };
    let found = hybrid.solve().unwrap();
    let mut numbers = Numbers::new(4);
    let (mut whole, mut sent) = (0.0, 0.0);
    for _ in 0..30_000 {
        let mut arrived = 0;
        for _ in 0..hybrid.frames {
            for _ in 0..=hybrid.persistency {
                sent += 11.0;
                let lost = (0..hybrid.sent)
                    .filter(|_| numbers.next() < hybrid.loss)
                    .count();
                if lost <= 1 {
                    arrived += 1;
                    break;
                }
            }
        }
        if arrived == hybrid.frames {
            whole += 60.0;
        }
    }
    agree(whole / sent, found.useful, 0.015);
}

#[test]
fn frames_of_any_length_carry_something() {
    let get = |text: &str, name: &str| MODEL.run(text).unwrap().get(name).unwrap();
    let unlimited = get("delta=1000", "alpha_inf");
    agree(get("p=0.01 delta=1000", "alpha"), unlimited, 1e-15);
    assert!(get("p=0.5 N=10000 K=4900 delta=2", "percent") > 40.0);
    assert!(get("X=1 K=1 N=1 D=0 T=0", "percent") > 0.0);
}

proptest! {
    #[test]
    fn any_link_has_an_answer(
        p in 0.0..=1.0f64, data in 1u64..30, extra in 0u64..30, frames in 1u64..40, persistency in 0u64..60,
        delay in 0.0..0.5f64, elsewhere in 0.0..0.3f64, connections in 1u64..100,
        which in 0usize..3, large: bool, counted: bool,
    ) {
        let hybrid = Hybrid {
            connections: to_f64(connections), delay, elsewhere: elsewhere + 1e-6, loss: p, frames, data,
            sent: data + extra, persistency,
            resequencing: [Resequencing::Off, Resequencing::FirstOrder, Resequencing::Exact][which],
            bdp: if large { Bdp::Large } else { Bdp::Medium },
            nacks: if counted { Nacks::Exact } else { Nacks::Paper },
            ..PAPER
        };
        let found = hybrid.solve().unwrap();
        for number in [found.useful, found.repeats, found.last_frame, found.busy, found.round_trip,
            found.ordered_round_trip, found.packets, found.load, found.connection, found.throughput] {
            prop_assert!(!number.is_nan() && number >= 0.0, "{found:?}");
        }
        prop_assert!(found.useful <= found.useful_unlimited && found.busy <= 1.0);
        prop_assert!((1.0 - 1e-12..=to_f64(frames) * (1.0 + 1e-12)).contains(&found.last_frame));
        prop_assert!(found.repeats <= to_f64(persistency) * (1.0 + 1e-12));
        prop_assert!(found.ordered_round_trip >= found.round_trip);
        // Throughput does not fall with connections and does not rise with the delay.
        let more = Hybrid { connections: hybrid.connections + 1.0, ..hybrid }.solve().unwrap();
        prop_assert!(more.throughput >= found.throughput * (1.0 - 1e-12));
        let longer = Hybrid { elsewhere: hybrid.elsewhere + 0.1, ..hybrid }.solve().unwrap();
        prop_assert!(longer.throughput <= found.throughput * (1.0 + 1e-12));
    }
}
