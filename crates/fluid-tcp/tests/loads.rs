//! Loads of many transfers: drawn at random, and arrivals from a table.

use fluid_tcp::experiment::{InMemory, ParameterFile, Plan};
use fluid_tcp::simulation::probe::NoProbe;

use tmt_core::types::to_f64;

use super::applications::{broken, logged, near, plan, run_of, without_crc};

#[test]
fn a_load_of_transfers_offers_its_share_of_the_link() {
    // 30 kB in 21 packets: 31.5 kB on the link, 0.126 s of it. Half the load: one in 0.252 s.
    let report = run_of(
        &["cc=cubic,app=poisson(load=0.5,size=30kB)"],
        "duration = \"2000s\"\nbuffer = \"500pkt\"\n",
    );
    let load = &report.flows[0];
    let expected: f64 = 2000.0 / 0.252;
    near(
        load.transfers_complete.map(to_f64),
        expected,
        4.0 * expected.sqrt(),
    );
    near(report.total.link_utilisation, 0.5, 0.03);
    // Alone a transfer takes a round trip for 10 packets, and half of one and its service for the other 11.
    assert!(
        load.transfer_time_p50_s.unwrap() >= 0.1 + 0.05 + 11.0 * 0.006,
        "{load:?}"
    );
    assert_eq!(report.flows.len(), 1);
    // Beside a call, which keeps its number.
    let report = run_of(
        &[
            "cc=cubic,app=poisson(load=0.3,size=exponential(50kB))",
            "app=cbr",
        ],
        "duration = \"60s\"\n",
    );
    assert_eq!(report.flows.len(), 2);
    assert!(report.flows[1].mos.is_some() && report.flows[1].transfers_complete.is_none());
}

#[test]
fn loads_above_the_link_are_warned_of_and_those_too_large_refused() {
    let base = "link = \"synthetic\"\nrate = \"2Mbps\"\nrtt = \"60ms\"\n";
    let over = plan(&format!(
        "{base}duration = \"10s\"\nflow = [\"app=poisson(load=1.5,size=20kB)\"]\n"
    ));
    assert!(
        over.notes
            .iter()
            .any(|note| note.text.contains("offers 1.5 times the rate of the link"))
    );
    over.run(over.runs()[0], &mut NoProbe).unwrap();
    let many = format!("{base}duration = \"10h\"\nflow = [\"app=poisson(load=0.9,size=1kB)\"]\n");
    let file = ParameterFile::parse(&many).unwrap();
    let error = file.experiment.resolve(&InMemory).unwrap_err().to_string();
    assert!(error.contains("transfers, expected at most 1e6"), "{error}");
    let none = ParameterFile::parse("flow = [\"app=pages(size=1kB,objects=0)\"]\n");
    assert!(none.unwrap_err().to_string().contains("objects=0"));
}

#[test]
fn a_load_lasts_as_long_as_its_run() {
    let mut utilisation = 0.0;
    for seed in 1..=60 {
        let report = run_of(
            &["app=poisson(load=0.05,size=100kB)"],
            &format!("duration = \"20s\"\nseed = {seed}\n"),
        );
        near(Some(report.duration_s), 20.0, 1e-9);
        assert_eq!(report.flows[0].completion_time_s, None);
        utilisation += report.total.link_utilisation.unwrap() / 60.0;
    }
    // Some 143 transfers of 0.42 s in 1200 s; the last ones are cut.
    near(Some(utilisation), 0.05, 0.05 * 3.0 / 143_f64.sqrt());
}

/// A run of 20 s on 1.2 Mbit/s, 100 ms, with these flows.
fn arriving(flow: &str) -> Plan {
    plan(&format!(
        "link = \"synthetic\"\nrate = \"1.2Mbps\"\nrtt = \"100ms\"\nduration = \"20s\"\niw = 10\nflow = [{flow}]\n"
    ))
}

/// The arrivals of one connection, and of connections of their own, by hand: 1448 B fill a packet, which takes 10 ms.
#[test]
fn arrivals_are_complete_with_their_last_byte() {
    // In each row the window is open: n packets take 10 n ms, and 50 ms to the receiver. The third waits for 30 ms behind the second.
    let rows = "1,1448,a;3,7240,a;3.02,2896,a;19.99,1448,a";
    let plan = arriving(&format!(
        "\"app=arrivals({{time_s,size_bytes,flow;{rows}}}),start=1s\""
    ));
    let (report, log) = logged(&plan);
    assert_eq!(broken(&log), [""; 0]);
    let metrics = &report.flows[0];
    // The last one is after the end, as its start is a second after that of the run.
    assert_eq!(
        (metrics.transfers_begun, metrics.transfers_complete),
        (Some(3), Some(3))
    );
    // Rounded to a nanosecond.
    assert_eq!(metrics.transfer_time_mean_s, Some(0.086_666_667));
    assert_eq!(metrics.packets_sent, 8);
    assert!(
        plan.notes
            .iter()
            .any(|note| note.text.contains("1 of 4 arrivals are not before the end"))
    );
    // The same as flows of their own.
    let alone = arriving("\"app=arrivals({time_s,size_bytes;1,1448;3,7240;3.02,2896}),start=1s\"");
    let (report, log) = logged(&alone);
    assert_eq!(broken(&log), [""; 0]);
    let others = &report.flows[0];
    assert_eq!(report.flows.len(), 1);
    assert_eq!(log.matches("\n# flows: 3\n").count(), 1);
    assert_eq!(others.transfer_time_mean_s, metrics.transfer_time_mean_s);
    assert!((report.duration_s - 20.0).abs() < 1e-9);
}

#[test]
fn arrivals_over_udp_are_datagrams_of_their_sizes() {
    let app =
        "app=arrivals({time_s,size_bytes,flow;0,172,1;0.02,1200,1;0.02,60,2;0.04,172,1},over=udp)";
    let plan = arriving(&format!("\"{app}\", \"cc=cubic,start=10s\""));
    let (report, log) = logged(&plan);
    assert_eq!(broken(&log), [""; 0]);
    assert!(log.contains("# flow_datagrams: largest=1200,headers=28 largest=1200,headers=28 -\n"));
    let metrics = &report.flows[0];
    assert_eq!((metrics.packets_sent, metrics.packets_delivered), (4, 4));
    assert_eq!(metrics.offered_bps, Some(8.0 * 1604.0 / 20.0));
    assert_eq!(metrics.datagram_loss_ratio, Some(0.0));
    // 60 + 28 B at 1.2 Mbit/s.
    assert_eq!(metrics.delay_min_s, Some(0.050_586_667));
    // One that is larger than the largest, and one whose number is not the next.
    let row = log.lines().find(|line| line.starts_with("0,1,")).unwrap();
    for (edited, rule) in [
        (row.replace(",1228", ",1229"), "form"),
        (row.replacen("0,1,1,", "0,2,1,", 1), "causality"),
    ] {
        let found = broken(&without_crc(&log.replacen(row, &edited, 1)));
        assert!(
            edited != row && found.contains(&rule),
            "{edited}: {found:?}"
        );
    }
}

#[test]
fn arrivals_above_the_rate_of_the_link_are_warned_of_and_run() {
    // 100 transfers of 50 packets of 1500 B in 20 s: 5000 packets, where 2000 go through.
    let rows: Vec<String> = (0..100)
        .map(|number| format!("{}.5,72400", number / 6))
        .collect();
    let plan = arriving(&format!(
        "\"app=arrivals({{time_s,size_bytes;{}}})\"",
        rows.join(";")
    ));
    let warned = |text: &str| plan.notes.iter().any(|note| note.text.contains(text));
    assert!(
        warned("offers 2.5 times the rate of the link"),
        "{:?}",
        plan.notes
    );
    let report = plan.run(plan.runs()[0], &mut NoProbe).unwrap();
    assert_eq!(report.flows[0].transfers_begun, Some(100));
    assert!(report.flows[0].transfers_complete < Some(60));
    let fair = arriving("\"app=arrivals({time_s,size_bytes;0,1000})\"");
    assert!(
        fair.notes
            .iter()
            .all(|note| !note.text.contains("times the rate"))
    );
}

/// Arrivals at the end of the run and after it send nothing, over TCP and UDP, and are said.
#[test]
fn arrivals_that_are_not_before_the_end_send_nothing() {
    let base = "link = \"synthetic\"\nrate = \"2Mbps\"\nrtt = \"60ms\"\nduration = \"1s\"\n";
    for over in ["tcp", "udp"] {
        for at in ["1", "100"] {
            let flow = format!("app=arrivals({{time_s,size_bytes;{at},1000}},over={over})");
            let plan = plan(&format!("{base}flow = [\"{flow}\"]\n"));
            let said = "1 of 1 arrivals are not before the end";
            assert!(plan.notes.iter().any(|note| note.text.contains(said)));
            let (report, log) = logged(&plan);
            assert_eq!(report.total.metrics.packets_sent, 0, "{over} {at}");
            assert_eq!(log.lines().filter(|line| line.starts_with("0,")).count(), 0);
        }
    }
}
