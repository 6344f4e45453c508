//! Laws, jitter, playout and schedules against closed forms, published algorithms and tables made by hand.

use proptest::prelude::*;
use tmt_core::math::rng::{Stream, Uniform};
use tmt_core::types::{BitRate, Span, Time, to_f64};

use super::datagrams::Jitter;
use super::voice::Playout;
use super::*;
use crate::congestion::Algorithm;
use crate::endpoint::{Datagram, Endpoint};
use crate::simulation::metrics::Metrics;
use crate::simulation::probe::{All, NoProbe};
use crate::simulation::{Setup, run};

fn at(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000).unwrap()
}

fn app(text: &str) -> Box<dyn Traffic> {
    traffic(&text.parse().unwrap()).unwrap()
}

/// Metrics of a flow of 10 s alone on 2 Mbit/s with a delay of 50 ms and a queue of 100 packets.
fn alone(text: &str) -> Metrics {
    let flow = Flow::new(Algorithm::default(), Endpoint::default());
    let flow = app(text).flow(flow, Bytes(1500)).unwrap();
    let setup = Setup::new(vec![flow], Span::from_millis(100), Span::from_secs(10));
    let link = setup.synthetic_link(BitRate(2_000_000), None).unwrap();
    run(&setup, link, &mut All(vec![&mut NoProbe]))
        .unwrap()
        .flows
        .remove(0)
}

#[test]
fn every_example_is_read_and_its_text_reads_back() {
    for entry in ENTRIES {
        for example in entry.examples {
            let app: App = example
                .parse()
                .unwrap_or_else(|error| panic!("{example}: {error}"));
            traffic(&app).unwrap_or_else(|error| panic!("{example}: {error}"));
            assert_eq!(app.to_string().parse::<App>().unwrap(), app, "{example}");
            assert_eq!(
                app.in_parentheses().parse::<App>().unwrap(),
                app,
                "{example}"
            );
        }
    }
}

#[test]
fn values_that_do_not_fit_are_refused_with_what_was_found_and_expected() {
    for (text, parts) in [
        (
            "cbr(codec=g729,rate=64kbps)",
            ["rate=64kbps with codec=g729", "its 8kbps"],
        ),
        (
            "cbr(rate=1Mbps)",
            ["without a codec and without packet", "packet=SIZE"],
        ),
        (
            "cbr(codec=g729,packet=25B)",
            ["packet=25B with codec=g729", "whole frames of 10B"],
        ),
        (
            "cbr(rate=1Mbps,packet=1kB,playout=50ms)",
            ["playout=50ms without a codec", "codec="],
        ),
        (
            "cbr(rate=8kbps,packet=10B,headers=5B)",
            ["headers=5B", "at least 28B"],
        ),
        (
            "cbr(packet=65500B)",
            ["packet=65500B with headers of 40B", "at most 65535 B"],
        ),
        (
            "on-off(on=1s,off=1s,over=tcp,codec=g711)",
            ["codec with over=tcp", "over=udp"],
        ),
        ("on-off(on=1s,off=0s)", ["'0s'", "above zero"]),
        (
            "on-off(on=gamma(1s),off=1s)",
            ["unknown distribution 'gamma'", "exponential"],
        ),
        (
            "on-off(on=pareto(least=1s,shape=1),off=1s)",
            ["which has no mean", "a shape above 1"],
        ),
    ] {
        let app: App = text.parse().unwrap();
        let error = traffic(&app).unwrap_err().to_string();
        assert!(
            parts.iter().all(|part| error.contains(part)),
            "{text}: {error}"
        );
    }
    for text in [
        "bytes",
        "bytes(0B)",
        "cbr(rate=0bps)",
        "cbr(color=red)",
        "on-off(on=1s)",
        "video",
    ] {
        assert!(text.parse::<App>().is_err(), "{text}");
    }
}

/// Mean of many draws, and the share of them up to the mean, against the closed form of the distribution function.
#[test]
fn laws_have_their_mean_and_distribution() {
    let exponential = 1.0 - 1.0 / std::f64::consts::E;
    for (text, mean, below, tolerance) in [
        ("100kB", 1e5, 1.0, 0.0),
        ("exponential(100kB)", 1e5, exponential, 0.01),
        // F(mean) = Phi(sigma/2) = Phi(0.5); exp(0.5) = 1.648721.
        (
            "lognormal(median=100kB,sigma=1)",
            164_872.127,
            0.691_462,
            0.02,
        ),
        // F(mean) = 1 - (least/mean)^shape = 1 - (2/3)^3.
        ("pareto(least=100kB,shape=3)", 1.5e5, 1.0 - 8.0 / 27.0, 0.01),
    ] {
        let law = Law::read(text, Unit::Bytes).unwrap();
        assert!(
            (law.mean() / mean - 1.0).abs() < 1e-8,
            "{text}: {}",
            law.mean()
        );
        let mut numbers = Uniform::new(7, Stream::FlowStart);
        let count = 100_000;
        let draws: Vec<f64> = (0..count)
            .map(|at| to_f64(law.draw(numbers.at(at))))
            .collect();
        let found = draws.iter().sum::<f64>() / to_f64(count);
        assert!(
            (found / mean - 1.0).abs() <= f64::max(tolerance, 1e-9),
            "{text}: {found}"
        );
        let share = draws.iter().filter(|draw| **draw <= mean).count();
        let share = to_f64(share as u64) / to_f64(count);
        assert!((share - below).abs() < 0.006, "{text}: {share}");
    }
}

/// Draws of a table by inversion, its mean, and the packets that they take, by hand.
#[test]
fn a_table_is_drawn_row_by_row() {
    let law = Law::read("csv({size_bytes;3000;1000;1000;1001})", Unit::Bytes).unwrap();
    for (u, draw) in [
        (0.0, 1000),
        (0.2499, 1000),
        (0.25, 1000),
        (0.5, 1001),
        (0.75, 3000),
        (0.9999, 3000),
    ] {
        assert_eq!(law.draw(u), draw, "{u}");
    }
    assert!((law.mean() - 1500.25).abs() < 1e-9);
    // 1, 1, 2 and 3 packets of 1000 B.
    assert!((law.mean_pieces(1000.0) - 1.75).abs() < 1e-12);
    assert!(law.is_random());
    let alike = Law::read("csv:{size_bytes;7;7}", Unit::Bytes).unwrap();
    assert!(!alike.is_random());
    let pauses = Law::read("csv({duration_s;0.25;1.5})", Unit::Span).unwrap();
    assert_eq!(pauses.draw_span(0.1), Span::from_millis(250));
}

#[test]
fn tables_without_sizes_are_refused_with_line_and_column() {
    let refusal = |content: &str| {
        let mut read = |name: &str| {
            assert_eq!(name, "s.csv");
            Ok(content.to_owned())
        };
        with_files("pages(objects=2,size=csv(s.csv))", &mut read).unwrap_err()
    };
    for (content, error) in [
        ("", "s.csv: found no rows"),
        ("size_bytes\n", "s.csv: found no rows"),
        (
            "1000\n2000\n",
            "s.csv:1: found '1000', expected the header size_bytes or duration_s",
        ),
        (
            "# sizes\nsize_bytes\n\n10\n-5\n",
            "s.csv:5: column 1: found '-5'",
        ),
        ("size_bytes\n0\n", "s.csv:2: column 1: found '0'"),
        ("size_bytes\n10\nnan\n", "s.csv:3: column 1: found 'nan'"),
        ("size_bytes\n1.5\n", "s.csv:2: column 1: found '1.5'"),
        ("size_bytes\n10,7\n", "s.csv:2: column 2: found 2 columns"),
        (
            "size_bytes,count\n10,7\n",
            "s.csv:1: found 'size_bytes,count'",
        ),
        ("duration_s\n0.0\n", "s.csv:2: column 1: found '0.0'"),
        ("duration_s\n1e400\n", "s.csv:2: column 1: found '1e400'"),
    ] {
        let found = refusal(content);
        assert!(found.starts_with(error), "{found}");
    }
    // The other unit than that of the parameter, and a file that nobody has read.
    for (text, error) in [
        ("pages(size=csv({duration_s;1}))", "a table of duration_s"),
        ("pages(size=csv(s.csv))", "no file is read here"),
    ] {
        let found = traffic(&text.parse().unwrap()).unwrap_err().to_string();
        assert!(found.contains(error), "{found}");
    }
}

#[test]
fn tables_of_arrivals_that_do_not_fit_are_refused_with_line_and_column() {
    for (content, error) in [
        ("time_s,size_bytes,flow\n", "a.csv: found no rows"),
        ("time_s,flow\n0,1\n", "a.csv:1: found 'time_s,flow'"),
        ("time_s\n0\n", "a.csv:1: found 'time_s'"),
        (
            "time_s,size_bytes\n0,10\n-1,10\n",
            "a.csv:3: column 1: found '-1'",
        ),
        (
            "time_s,size_bytes\n1,10\n0.5,10\n",
            "a.csv:3: column 1: found 500ms after 1s",
        ),
        ("time_s,size_bytes\n0,0\n", "a.csv:2: column 2: found '0'"),
        (
            "time_s,size_bytes,flow\n0,10\n",
            "a.csv:2: found 2 columns, expected 3",
        ),
    ] {
        let mut read = |_: &str| Ok(content.to_owned());
        let found = with_files("arrivals(a.csv,over=udp)", &mut read).unwrap_err();
        assert!(found.starts_with(error), "{found}");
    }
    for (text, error) in [
        (
            "arrivals({time_s,size_bytes;0,1},headers=28B)",
            "headers=28B with over=tcp",
        ),
        (
            "arrivals({time_s,size_bytes;0,1},over=udp,headers=20B)",
            "at least 28B",
        ),
    ] {
        let found = traffic(&text.parse().unwrap()).unwrap_err().to_string();
        assert!(found.contains(error), "{found}");
    }
}

#[test]
fn an_empty_name_of_a_file_is_a_missing_one() {
    let mut read = |name: &str| panic!("read '{name}'");
    let missing = "arrivals".parse::<App>().unwrap_err().to_string();
    for text in [
        "arrivals()",
        "arrivals:",
        "arrivals(,over=udp)",
        "arrivals(file=)",
    ] {
        assert_eq!(with_files(text, &mut read).unwrap_err(), missing, "{text}");
    }
    let error = with_files("pages(size=csv())", &mut read).unwrap_err();
    assert!(error.starts_with("found no file, expected csv:"), "{error}");
}

#[test]
fn files_are_read_wherever_an_application_names_them() {
    let mut read = |name: &str| {
        Ok(match name {
            "sizes.csv" => "size_bytes\n1000\n".to_owned(),
            "think.csv" => "duration_s\n0.5\n".to_owned(),
            other => panic!("{other}"),
        })
    };
    let mut of = |text: &str| with_files(text, &mut read).unwrap();
    assert_eq!(
        of("pages:objects=2,size=csv(sizes.csv),think=csv:think.csv").as_deref(),
        Some("pages(objects=2,size=csv({size_bytes;1000}),think=csv({duration_s;0.5}))")
    );
    for without in [
        "cbr",
        "pages(size=1kB)",
        "pages(size=csv({size_bytes;1}))",
        "video(a)",
    ] {
        assert_eq!(of(without), None, "{without}");
    }
}

proptest! {
    /// The integer algorithm of RFC 3550, A.8, at a clock of 1 MHz, whose jitter is scaled by 16.
    #[test]
    fn jitter_is_that_of_the_rfc(transits in prop::collection::vec(1_000_u32..200_000, 2..300)) {
        let (mut scaled, mut last) = (0_i64, None);
        let mut jitter = Jitter::default();
        for (number, transit) in transits.iter().enumerate() {
            let sent = Time::from_nanos(number as u64 * 20_000_000).unwrap();
            let arrival = sent.saturating_add(Span::from_micros(*transit));
            jitter.on_arrival(arrival, sent);
            let transit = i64::from(*transit);
            if let Some(last) = last {
                let difference: i64 = transit - last;
                scaled += difference.abs() - ((scaled + 8) >> 4);
            }
            last = Some(transit);
        }
        let (found, most) = jitter.values().unwrap();
        let expected = f64::from(i32::try_from(scaled).unwrap()) / 16.0;
        prop_assert!((found * 1e6 - expected).abs() < 1.0, "{found}, {expected}");
        prop_assert!(most >= found);
    }
}

/// Quality at a listener of datagrams 20 ms apart that arrive at these times, ms; `None`: never.
fn heard(
    arrivals: &[Option<u64>],
    begins: &[usize],
    buffer: u32,
    end: u64,
) -> crate::endpoint::Heard {
    let codec = Codec::of("g711").unwrap();
    let mut playout = Playout::new(codec, Bytes(160), Span::from_millis(buffer));
    let mut events: Vec<(u64, usize, bool)> = Vec::new();
    for (number, arrival) in arrivals.iter().enumerate() {
        events.push((20 * number as u64, number, false));
        events.extend(arrival.map(|at| (at, number, true)));
    }
    events.sort_unstable();
    events.retain(|(time, ..)| *time <= end);
    for (time, number, arrives) in events {
        if arrives {
            let datagram = Datagram {
                number: number as u64,
                sent: at(20 * number as u64),
                payload: Bytes(160),
            };
            playout.on_arrival(at(time), &datagram);
        } else {
            playout.on_sent(at(time), begins.contains(&number));
        }
    }
    playout.heard(at(end)).unwrap()
}

#[test]
fn a_datagram_that_is_late_is_not_played() {
    // Played 50 + 60 ms after sending: 110, 130, 150, 170, 190, 210 ms.
    let arrivals = [Some(50), Some(130), None, Some(171), Some(120), Some(150)];
    let all = heard(&arrivals, &[], 60, 1000);
    assert_eq!((all.due, all.missing, all.late), (6, 2, 1));
    // 20 ms of packetisation.
    assert!((all.delay_s.value().unwrap() - 0.130).abs() < 1e-12);
    // One burst of two in six: 2 · (1 − 1/3).
    assert!((all.burst_ratio.value().unwrap() - 4.0 / 3.0).abs() < 1e-12);
    let quality = crate::model::e_model::Quality::of(0.130, 0.0, 4.3, 1.0 / 3.0, 4.0 / 3.0);
    assert_eq!(all.mos.value(), Some(quality.mos()));
    // Datagrams due after the end do not count.
    let part = heard(&arrivals, &[], 60, 150);
    assert_eq!((part.due, part.missing), (3, 1));
}

#[test]
fn each_talkspurt_has_a_clock_of_its_own() {
    // The third begins a talkspurt, and its first arrives after 150 ms: it is played after 210 ms, not 110 ms.
    let arrivals = [Some(50), Some(70), Some(190), Some(210), Some(271)];
    let one = heard(&arrivals, &[2], 60, 1000);
    assert_eq!((one.due, one.missing, one.late), (5, 0, 0));
    assert!((one.delay_s.value().unwrap() - 0.02 - (2.0 * 0.11 + 3.0 * 0.21) / 5.0).abs() < 1e-12);
    // Without a pause before it, all three are late.
    let other = heard(&arrivals, &[], 60, 1000);
    assert_eq!((other.due, other.missing, other.late), (5, 3, 3));
    // The first of a talkspurt is lost: the next sets the clock. Of another nothing arrives.
    let lost = heard(
        &[Some(50), None, Some(140), None, None, Some(150)],
        &[1, 3, 5],
        60,
        1000,
    );
    assert_eq!((lost.due, lost.missing, lost.late), (6, 3, 0));
}

#[test]
fn nothing_that_arrives_is_the_worst_call() {
    let silent = heard(&[None; 50], &[], 60, 10_000);
    assert_eq!((silent.due, silent.missing), (50, 50));
    assert_eq!(silent.mos.value(), Some(1.0));
}

#[test]
fn a_call_alone_has_the_delay_of_its_parts_and_the_score_of_the_e_model() {
    let metrics = alone("cbr");
    // 10 s of 20 ms each, the first at 0 and the last at the end.
    assert_eq!(metrics.packets_sent, 501);
    // 200 B at 2 Mbit/s take 0.8 ms.
    assert_eq!(metrics.delay_max_s, Some(0.0508));
    let expected = 0.02 + 0.0508 + 0.06;
    assert!((metrics.mouth_to_ear_delay_s.unwrap() - expected).abs() < 1e-9);
    let quality = crate::model::e_model::Quality::of(expected, 0.0, 4.3, 0.0, 1.0);
    assert!((metrics.mos.unwrap() - quality.mos()).abs() < 1e-9);
    assert_eq!(
        (metrics.jitter_s, metrics.datagram_loss_ratio),
        (Some(0.0), Some(0.0))
    );
    assert_eq!(metrics.offered_bps, Some(8.0 * 160.0 * 501.0 / 10.0));
    // Datagrams that are still on their way have not been received.
    assert_eq!(metrics.goodput_bps, Some(8.0 * 160.0 * 498.0 / 10.0));
    assert_eq!(
        (metrics.late_ratio, metrics.voice_loss_ratio),
        (Some(0.0), Some(0.0))
    );
}

#[test]
fn datagrams_do_not_drift_at_a_rate_that_does_not_divide() {
    // 8 · 160 · 10^9/48 001 ns each.
    let metrics = alone("cbr(rate=48001bps,packet=160B)");
    let expected = (10.0_f64 * 48_001.0 / 1280.0).floor();
    assert!((to_f64(metrics.packets_sent) - expected - 1.0).abs() < 1e-9);
    assert_eq!((metrics.mos, metrics.voice_rating), (None, None));
}

#[test]
fn bursts_and_pauses_have_their_lengths_over_both_transports() {
    // 400 ms of 20 ms each, then 600 ms of pause: ten times 20 datagrams, and the first of another burst at the end.
    let udp = alone("on-off(on=400ms,off=600ms)");
    assert_eq!(udp.packets_sent, 201);
    assert_eq!(udp.offered_bps, Some(8.0 * 160.0 * 201.0 / 10.0));
    let tcp = alone("on-off(on=400ms,off=600ms,over=tcp)");
    assert_eq!(tcp.offered_bps, udp.offered_bps);
    assert!(tcp.acks_sent > 0 && tcp.mos.is_none() && tcp.jitter_s.is_none());
}

#[test]
fn drawn_bursts_send_for_their_share_of_the_time() {
    let long = |seed| {
        let flow = Flow::new(Algorithm::default(), Endpoint::default());
        let text = "on-off(on=exponential(500ms),off=exponential(1s),rate=80kbps,packet=100B)";
        let flow = app(text).flow(flow, Bytes(1500)).unwrap();
        let mut setup = Setup::new(
            vec![flow.clone(), flow],
            Span::from_millis(20),
            Span::from_secs(20_000),
        );
        setup.seed = seed;
        let link = setup.synthetic_link(BitRate(2_000_000), None).unwrap();
        let flows = run(&setup, link, &mut All(vec![&mut NoProbe]))
            .unwrap()
            .flows;
        [0, 1].map(|flow: usize| flows[flow].offered_bps)
    };
    let both = long(1);
    let [one, other] = both.map(Option::unwrap);
    // A burst of length X, in pieces of 10 ms, has 1 + floor(X/10 ms), in the mean 1/(1 - exp(-1/50)) = 50.5017.
    // Each takes 10 ms, and a pause 1 s.
    let expected = 50.501_67 * 800.0 / (0.505_016_7 + 1.0);
    for found in [one, other] {
        assert!((found / expected - 1.0).abs() < 0.03, "{found}, {expected}");
    }
    // Flows and seeds have numbers of their own.
    assert!((one - other).abs() > 1.0);
    assert_eq!(long(1), both);
    assert_ne!(long(2), both);
}
