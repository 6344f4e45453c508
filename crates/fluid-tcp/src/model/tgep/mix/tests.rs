use super::*;
use crate::model::congestion::Bottleneck;
use crate::model::tgep;
use crate::model::tgep::Draws;
use crate::model::tgep::interval::Course;
use crate::model::tgep::law::Cycle;
use crate::model::tgep::windows::Windows;
use tmt_core::math::rng::Stream;

fn mix(q: f64, connections: f64) -> Mix {
    Mix {
        base: TgepParameters {
            link: Bottleneck {
                mu: 100.0,
                tau: 0.5,
                beta: 0.8,
                connections,
                per_ack: 2.0,
            },
            loss: q,
            resend_round_trip: false,
            relative: 0.01,
            level: 0.99,
            seed: 1,
        },
        burst: 1.0,
        control: Control::Reno,
        shorts: Shorts {
            load: 0.0,
            size: 30.0,
            first: 10.0,
        },
    }
}

/// TGEP as printed, without bursts and short flows.
struct Plain {
    law: Law,
    windows: Windows,
    losses: Draws,
    victims: Draws,
}

impl Course for Plain {
    fn next(&mut self) -> Cycle {
        let free = self.law.free(self.losses.next());
        let mut cycle = self.law.run(&mut self.windows, free);
        if cycle.congested {
            self.windows.cut_all(0.5);
            cycle.time += self.law.connections;
        } else {
            let at = if self.law.connections > 1.0 {
                self.windows.choose(self.victims.next())
            } else {
                0
            };
            self.windows.cut(at, 0.5);
            cycle.time += self.law.resend;
        }
        cycle
    }

    fn begin(&mut self) {
        self.windows.forget();
    }

    fn sent(&mut self) -> &[f64] {
        self.windows.sent()
    }
}

#[test]
fn with_all_defaults_it_equals_tgep_bit_by_bit() {
    for q in [1e-5, 1e-3, 0.03] {
        for connections in [1.0, 5.0] {
            for resend_round_trip in [false, true] {
                let mut mix = mix(q, connections);
                mix.base.resend_round_trip = resend_round_trip;
                let (found, share) = mix.goodput().unwrap();
                let law = Law::new(&mix.base.link, q, resend_round_trip);
                let plain = (0..TESTS as u64).map(|index| Plain {
                    law,
                    windows: Windows::new(law.count(), law.most / 2.0),
                    losses: Draws::of_test(mix.base.seed, Stream::FluidLoss, index),
                    victims: Draws::of_test(mix.base.seed, Stream::FluidVictim, index),
                });
                let mut plain: Vec<Plain> = plain.collect();
                assert_eq!(found, measure(&mut plain, &law, &mix.base, FIRST).unwrap());
                assert!(share.abs() < f64::EPSILON);
            }
        }
    }
}

#[test]
fn bursts_lose_the_given_share_of_segments() {
    for (q, burst) in [(1e-3, 4.0), (0.05, 3.0), (0.2, 1.5)] {
        for connections in [1.0, 4.0] {
            let mix = Mix {
                burst,
                ..mix(q, connections)
            };
            let link = Bottleneck {
                beta: 1e3,
                ..mix.base.link
            };
            let law = Law::new(&link, mix.event_rate(), false);
            let mut test = Fluid::new(&mix, law, 0);
            let sent: f64 = (0..100_000).map(|_| Course::next(&mut test).segments).sum();
            // The buffer is so large that nothing else is lost.
            let share = test.lost / (test.lost + sent);
            assert!((share / q - 1.0).abs() < 0.02, "{q} {burst}: {share}");
        }
    }
}

#[test]
fn a_burst_is_one_reduction_so_bursts_cost_less() {
    let at = |burst: f64, q: f64| {
        Mix {
            burst,
            ..mix(q, 1.0)
        }
        .goodput()
        .unwrap()
        .0
    };
    // If the link never fills, the goodput follows the rate of bursts: that of tgep at q/L, less the time of the
    // retransmissions.
    for (q, burst) in [(1e-2, 4.0), (4e-3, 8.0)] {
        let (bursty, single) = (at(burst, q), at(1.0, q / burst));
        let resend = 1.0 / (1.0 / single.norm + q * (1.0 - 1.0 / burst));
        assert!(
            (bursty.norm - resend).abs() < bursty.half_width + single.half_width + 0.005 * resend,
            "{bursty:?} {single:?}"
        );
        assert!(bursty.norm > 1.5 * at(1.0, q).norm);
    }
    // With several connections a burst may hit several of them, like that many single losses.
    let spread = |burst: f64| {
        Mix {
            burst,
            ..mix(2e-3, 8.0)
        }
        .goodput()
        .unwrap()
        .0
        .norm
    };
    assert!(spread(4.0) > spread(1.0) * 0.99 && spread(4.0) < spread(1.0) * 1.3);
}

#[test]
fn bursts_beyond_all_windows_end() {
    for connections in [1.0, 6.0] {
        let mut mix = Mix {
            burst: 3000.0,
            ..mix(0.2, connections)
        };
        mix.base.relative = 0.1;
        let found = mix.goodput();
        assert!((0.0..0.2).contains(&found.unwrap().0.norm));
    }
}

#[test]
fn westwood_keeps_the_link_full() {
    for (beta, connections) in [(0.8, 1.0), (0.3, 4.0), (2.0, 1.0)] {
        let mut mix = Mix {
            control: Control::Westwood,
            ..mix(0.0, connections)
        };
        mix.base.link.beta = beta;
        let link = mix.base.link;
        // From μ T to w_max the link is full; only segments lost by congestion are sent again.
        let bdp = link.bdp() * link.bdp();
        let segments = (link.most() * link.most() - bdp) * link.per_ack / (2.0 * connections);
        let full = segments / (segments + connections);
        let found = mix.goodput().unwrap().0;
        assert!((found.norm / full - 1.0).abs() < 1e-12, "{found:?} {full}");
        assert!(found.half_width < 1e-12);
        // Random losses cost only the segments: the link stays full.
        mix.base.loss = 1e-3;
        let lossy = mix.goodput().unwrap().0;
        assert!(
            lossy.norm < full && lossy.norm > full - 2e-3 * (1.0 + 2.0 * connections),
            "{lossy:?} {full}"
        );
        assert!(lossy.norm > tgep::goodput(&mix.base).unwrap().norm);
    }
    let mut mix = Mix {
        control: Control::Westwood,
        ..mix(1e-3, 1.0)
    };
    mix.base.link.beta = 0.0;
    assert!(mix.goodput().unwrap_err().to_string().contains("beta"));
}

#[test]
fn cubic_beats_reno_over_a_satellite_and_fills_the_link() {
    let at = |q: f64| Mix {
        control: Control::Cubic,
        ..mix(q, 1.0)
    };
    let none = at(0.0).goodput().unwrap().0;
    assert!(
        none.half_width < 1e-9 && (0.97..1.0).contains(&none.norm),
        "{none:?}"
    );
    let rare = at(1e-9).goodput().unwrap().0;
    assert!((rare.norm / none.norm - 1.0).abs() < 1e-3);
    let mut large = at(3e-4);
    large.base.link.mu = 1000.0;
    let cubic = large.goodput().unwrap().0;
    assert!(
        cubic.norm > tgep::goodput(&large.base).unwrap().norm,
        "{cubic:?}"
    );
    for (change, why) in [(2.0, "one connection"), (1.0, "short flows")] {
        let mut mix = at(1e-3);
        mix.base.link.connections = change;
        mix.shorts.load = 0.1;
        assert!(mix.goodput().unwrap_err().to_string().contains(why));
    }
}

#[test]
fn many_small_short_flows_are_a_thinner_link() {
    // 20 000 segments fill the link, and thousands of short flows hold a fifth of it: their share hardly varies. The
    // rest is a link of 0.8 μ with the same round trip and relative buffer.
    let mut mix = mix(1e-6, 1.0);
    mix.base.link.mu = 40_000.0;
    let thin = Bottleneck {
        mu: 0.8 * 40_000.0,
        tau: mix.base.link.round_trip() - 1.0 / (0.8 * 40_000.0),
        ..mix.base.link
    };
    mix.shorts = Shorts {
        load: 0.2,
        size: 2.0,
        first: 10.0,
    };
    let (found, share) = mix.goodput().unwrap();
    let expected = 0.8 * tgep::stationary_goodput(&thin, 1e-6);
    assert!((share - 0.2).abs() < 2e-3);
    assert!(
        (found.norm - expected).abs() < found.half_width + 0.01 * expected,
        "{found:?} {expected}"
    );
}

#[test]
fn long_and_short_flows_share_one_link() {
    for (load, size) in [(0.1, 30.0), (0.4, 100.0), (0.6, 8.0)] {
        for control in [Control::Reno, Control::Westwood] {
            let mut mix = Mix {
                control,
                ..mix(1e-5, 3.0)
            };
            mix.base.link.mu = 2000.0;
            mix.shorts = Shorts {
                load,
                size,
                first: 10.0,
            };
            let (found, share) = mix.goodput().unwrap();
            assert!((share / load - 1.0).abs() < 0.06, "{load}: {share}");
            assert!(found.norm + share < 1.0, "{load}: {found:?} {share}");
            let sum: f64 = found.per_connection.iter().sum();
            assert!((sum / found.norm - 1.0).abs() < 1e-9);
            let alone = Mix {
                shorts: Shorts {
                    load: 0.0,
                    ..mix.shorts
                },
                ..mix
            };
            assert!(found.norm < alone.goodput().unwrap().0.norm);
        }
    }
}

#[test]
fn ends_of_the_domain_have_limits_or_are_refused() {
    let run = |text: &str| MODEL.run(text);
    for (text, why) in [
        ("burst=0.5", "1 or above"),
        ("short_load=0.95", "0.9"),
        ("cc=cubic N=2", "one connection"),
        ("cc=cubic mu=1 tau=0", "fewer than 4"),
        ("cc=westwood beta=0", "beta"),
        ("short_load=0.1 short_size=0.1", "short_size"),
    ] {
        let error = run(text).unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
    for text in [
        "q=0 burst=7",
        "q=1 burst=7",
        "q=0 short_load=0.3",
        "q=0.3 cc=cubic ci=0.05",
        "q=0.3 cc=westwood ci=0.05",
        "q=0.2 burst=30 N=5 ci=0.05",
        "short_load=0.9 short_size=1e6 q=1e-4 ci=0.1",
        "mu=1 tau=0 short_load=0.2",
        "q=1e-7 burst=1e4",
    ] {
        let norm = run(text).unwrap().get("norm").unwrap();
        assert!((0.0..=1.0).contains(&norm), "{text}: {norm}");
    }
    assert!(
        run("q=0.01 burst=30")
            .unwrap()
            .remarks()
            .iter()
            .any(|r| r.contains("timeouts"))
    );
}
