use tmt_core::format::table::TableForm;
use tmt_core::types::{BitRate, Metadata, Span};

use super::*;
use crate::experiment::{BufferSize, InMemory, LinkKind};
use crate::log::{Course, PacketLog};

/// A small queue, and losses in two of a thousand packets.
fn experiment(cc: &str, queue: &str) -> Experiment {
    Experiment {
        link: Some(LinkKind::Synthetic),
        rate: Some(BitRate(4_000_000)),
        rtt: Some(Span::from_millis(80)),
        loss: Some("bernoulli:0.002".parse().unwrap()),
        buffer: Some(BufferSize::Packets(10)),
        queue: Some(queue.parse().unwrap()),
        duration: Some(Span::from_secs(20)),
        cc: Some(cc.parse().unwrap()),
        ..Experiment::default()
    }
}

/// The packet log of a run.
fn log(plan: &Plan, setup: &Setup, run: RunId) -> Vec<u8> {
    let mut head = Metadata::new();
    head.set("tool", "test");
    plan.describe(&mut head, setup, run.seed);
    let mut log = PacketLog::new(Vec::new(), TableForm::Text(None), &head, setup).unwrap();
    plan.run_with(run, setup, &mut log).unwrap();
    log.finish().unwrap()
}

/// The log of a run, and of the model on its losses.
fn both(experiment: &Experiment, drops: Drops) -> [String; 2] {
    let plan = experiment.resolve(&InMemory).unwrap();
    let run = plan.runs()[0];
    let recorded = log(&plan, &plan.setup(run), run);
    let recording = Recording::read(&recorded[..]).unwrap();
    let hosts = Experiment {
        cc: experiment.cc.clone(),
        ..Experiment::default()
    };
    let model = recording.experiment(hosts, drops).unwrap();
    let plan = model.resolve(&InMemory).unwrap();
    let setup = recording.setup(&plan, run, drops).unwrap();
    let modelled = log(&plan, &setup, run);
    [recorded, modelled].map(|log| {
        let text = String::from_utf8(log).unwrap();
        let rows = text.lines().filter(|line| !line.starts_with('#'));
        rows.collect::<Vec<_>>().join("\n")
    })
}

#[test]
fn a_run_on_its_own_losses_is_the_same_packet_by_packet() {
    for cc in ["newreno", "cubic", "bbr1", "hybla"] {
        for queue in ["drop-tail", "codel:target=2ms,interval=20ms", "red"] {
            let [recorded, model] = both(&experiment(cc, queue), Drops::Own);
            for fate in [",link,", ",queue,"] {
                let count = recorded.matches(fate).count();
                assert!(count > 3, "{cc} {queue}: {count} of {fate}");
            }
            assert_eq!(recorded, model, "{cc} {queue}");
        }
        let [recorded, model] = both(&experiment(cc, "drop-tail"), Drops::Recorded);
        assert_eq!(recorded, model, "{cc}");
    }
}

#[test]
fn link_losses_are_numbered_among_the_packets_that_the_queue_does_not_drop() {
    let head = "# log: packets/2\n# run_ends_ns: 100\nflow,packet,copy,sent_s,enqueued_s,delivered_s,fate\n";
    // In the order of arrival: the second packet overtakes the first on its way to the queue.
    let rows = [
        "0,0,1,0.1,0.3,,link",
        "1,0,1,0.1,0.2,,queue",
        "1,1,1,0.4,0.4,0.9,delivered",
        "0,1,1,0.5,0.5,,queue",
        "0,2,1,0.6,0.6,,link",
        "0,3,1,0.7,,,open",
    ];
    let text = format!("{head}{}\n# end: rows=6 crc32=0\n", rows.join("\n"));
    let recording = Recording::read(text.as_bytes()).unwrap();
    let expected = |dropped: &[u64], lost: &[u64]| RecordedLosses::new(dropped.into(), lost.into());
    assert_eq!(recording.losses(Drops::Own), expected(&[], &[0, 2]));
    assert_eq!(
        recording.losses(Drops::Recorded),
        expected(&[0, 3], &[0, 2])
    );
}

#[test]
fn a_course_by_hand() {
    let head = "# log: packets/2\n# rtt_ns: 200000000\n# run_ends_ns: 2000000000\nflow,packet,copy,sent_s,enqueued_s,delivered_s,fate\n";
    let rows = [
        "0,0,1,0.0,0.0,0.5,delivered",
        // Known when the next one is: at 1.1 s.
        "0,1,1,0.2,0.2,,link",
        "0,2,1,0.4,0.4,1.0,delivered",
        "0,1,2,1.2,1.2,1.8,delivered",
        // A copy too many.
        "0,2,2,1.5,1.5,1.9,delivered",
        "0,3,1,1.8,1.8,,open",
    ];
    let text = format!("{head}{}\n# end: rows=6 crc32=0\n", rows.join("\n"));
    let recording = Recording::read(text.as_bytes()).unwrap();
    let plan = Experiment {
        rtt: Some(Span::from_millis(200)),
        duration: Some(Span::from_secs(2)),
        ..experiment("cubic", "drop-tail")
    };
    let plan = plan.resolve(&InMemory).unwrap();
    let setup = plan.setup(plan.runs()[0]);
    let course = Course::of(&recording, &setup);
    let totals = course.totals();
    assert_eq!(
        (totals.packets_sent, totals.packets_retransmitted),
        (6, Some(2))
    );
    assert_eq!((totals.packets_lost, totals.packets_dropped), (1, 0));
    assert_eq!(totals.packets_delivered, 3);
    // Three packets with 1448 B of payload in 2 s.
    assert!((totals.goodput_bps - 17_376.0).abs() < 1e-6, "{totals:?}");
    let mean = (0.5 + 0.6 + 0.6 + 0.4) / 4.0;
    assert!((totals.delay_mean_s.unwrap() - mean).abs() < 1e-9);
    // 0 to 0.6, 0.2 to 1.1, 0.4 to 1.1, 1.2 to 1.9, 1.5 to 2.0, 1.8 to 2.0 s.
    let flights = 0.6 + 0.9 + 0.7 + 0.7 + 0.5 + 0.2;
    assert!(
        (totals.in_flight_packets - flights / 2.0).abs() < 1e-6,
        "{totals:?}"
    );
    let stretches = course.stretches(Time::ZERO, Span::from_secs(1));
    let counts = stretches
        .iter()
        .map(|one| (one.packets_sent, one.packets_missing));
    assert_eq!(counts.collect::<Vec<_>>(), [(3, 1), (3, 0)]);
    assert!((stretches[0].goodput_bps - 2.0 * 11_584.0).abs() < 1e-6);
    assert!((stretches[0].in_flight_packets - (0.6 + 0.8 + 0.6)).abs() < 1e-6);
}

#[test]
fn what_is_no_packet_log_is_refused() {
    for (text, words) in [
        ("", "without `log: packets`"),
        ("# log: series\ntime_s\n", "without `log: packets`"),
        (
            "# log: packets/2\nflow,packet,copy,sent_s,fate\n# end: rows=0 crc32=0\n",
            "no packet of data",
        ),
        (
            "# log: packets/2\nflow,packet,copy,sent_s,fate\n0,1,1,0.1,open\n",
            "1 rows and no end line",
        ),
        (
            "# log: packets/2\nflow,packet,copy,sent_s,fate\n0,1,1,0.1,open\n# end: rows=2 crc32=0\n",
            "an end line of 2 rows",
        ),
        (
            "# log: packets/2\nflow,packet,copy,sent_s,fate\n0,1,x,0.1,open\n",
            "`copy`",
        ),
        (
            "# log: packets/2\nflow,packet,copy,sent_s,fate\n0,1,1,,open\n",
            "line 3: found nothing, expected `sent_s`",
        ),
    ] {
        let error = Recording::read(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

/// Without its flows in the head, a log of the simulator is compared only with flows that are given.
#[test]
fn a_log_that_does_not_say_its_flows_needs_them() {
    let head = "# log: packets/2\n# link: synthetic\n# rate_bps: 1000000\n# rtt_ns: 200000000\n# run_ends_ns: 2000000000\nflow,packet,copy,sent_s,enqueued_s,delivered_s,fate\n";
    let text = format!("{head}0,0,1,0.0,0.0,0.5,delivered\n# end: rows=1 crc32=0\n");
    let recording = Recording::read(text.as_bytes()).unwrap();
    let with = |given: Experiment| recording.experiment(given, Drops::Own);
    let refused = with(Experiment::default()).unwrap_err().to_string();
    assert!(
        refused.contains("does not say what its flows are"),
        "{refused}"
    );
    let given = Experiment {
        cc: Some("reno".parse().unwrap()),
        ..Experiment::default()
    };
    assert!(with(given).is_ok());
}
