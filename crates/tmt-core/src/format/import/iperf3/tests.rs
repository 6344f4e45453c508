//! Reports of both kinds, and where losses are put.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::testing::{Converted, convert, only, refusal};
use super::*;

/// A report of intervals of half a second.
fn text(counts: &[(u64, i64)]) -> String {
    let mut report = String::from(
        "Connecting to host 192.0.2.1, port 5201\n\
         [ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams\n",
    );
    for (at, (datagrams, lost)) in (0..).zip(counts) {
        let seconds = |half: u32| format!("{}.{}0", half / 2, half % 2 * 5);
        report.push_str(&format!(
            "[2024-05-27 11:27:24.427603] [  5]  {}-{}   sec  5.47 MBytes  91.5 Mbits/sec  0.008 ms  {lost}/{datagrams} (80%)  \n",
            seconds(at),
            seconds(at + 1)
        ));
    }
    report.push_str(
        "- - - - -\n\
         [  5]   0.00-120.05 sec  6.99 GBytes   500 Mbits/sec  0.000 ms  0/5359215 (0%)  sender\n\
         [SUM]  0.0-120.0 sec  512 datagrams received out-of-order\n\
         [  5]   0.00-120.00 sec  3.94 GBytes   282 Mbits/sec  0.030 ms  2333287/5356292 (44%)  receiver\n",
    );
    report
}

fn document(counts: &[(u64, i64)]) -> String {
    let intervals: Vec<Value> = (0_u32..)
        .zip(counts)
        .map(|(at, (packets, lost))| {
            let start = f64::from(at) / 2.0;
            let sum = json!({ "start": start, "end": start + 0.5, "packets": packets, "lost_packets": lost, "omitted": false, "sender": false });
            json!({ "streams": [], "sum": sum })
        })
        .collect();
    json!({ "start": { "version": "iperf 3.12" }, "intervals": intervals, "end": {} }).to_string()
}

fn spread(text: &str, how: &str) -> Converted {
    convert(&FORMAT, text, &[(SPREAD, how)])
}

/// Lost and received datagrams as digits.
fn losses(found: &Converted) -> String {
    found
        .delays()
        .iter()
        .map(|delay| if *delay == 0 { 'x' } else { '-' })
        .collect()
}

#[test]
fn losses_are_put_where_it_is_stated() {
    let text = text(&[(10, 4), (5, 0), (3, 3), (4, 1)]);
    let even = spread(&text, "even");
    assert_eq!(losses(&even), "-x-x--x-x------xxx-x--");
    assert_eq!(losses(&spread(&text, "together")), "xxxx-----------xxxx---");
    // Evenly spaced: 10 datagrams in 500 ms, then 5.
    let times: Vec<u64> = even.slots.iter().map(|(at, _)| at / 1_000_000).collect();
    assert_eq!(
        times[..12],
        [0, 50, 100, 150, 200, 250, 300, 350, 400, 450, 500, 600]
    );
    assert!(
        even.remarks
            .iter()
            .any(|it| it.effect == super::super::Effect::NotCarried)
    );
}

#[test]
fn a_random_spread_repeats_by_seed_and_chooses_each_datagram_equally_often() {
    let counts = vec![(10, 3); 3000];
    let text = document(&counts);
    let one = losses(&spread(&text, "random"));
    let keys = [(SPREAD, "random"), (SEED, "1")];
    assert_eq!(one, losses(&convert(&FORMAT, &text, &keys)));
    let keys = [(SPREAD, "random"), (SEED, "2")];
    assert_ne!(one, losses(&convert(&FORMAT, &text, &keys)));
    let mut of_place = [0_u32; 10];
    for interval in one.as_bytes().chunks(10) {
        assert_eq!(String::from_utf8_lossy(interval).matches('x').count(), 3);
        for (place, of) in interval.iter().zip(&mut of_place) {
            *of += u32::from(*place == b'x');
        }
    }
    // Mean 900, standard deviation 25.1.
    assert!(
        of_place.iter().all(|count| (800..1000).contains(count)),
        "{of_place:?}"
    );
}

#[test]
fn odd_counts_are_reported() {
    let found = spread(&text(&[(10, -2), (0, 0), (4, 5)]), "even");
    assert_eq!(losses(&found), "----------xxxx");
    assert_eq!(found.count("losses-out-of-range"), 2);
    assert_eq!(found.count("silent-intervals"), 1);
}

#[test]
fn reports_without_losses_per_interval_are_refused_with_the_reason() {
    let keys: &[_] = &[(SPREAD, "even")];
    let good = document(&[(10, 1)]);
    for (text, words) in [
        (good.replace("\"lost_packets\":1,", ""), "the report of a sender"),
        (good.replace("\"lost_packets\":1,", "").replace("\"packets\":10,", ""), "a test of TCP"),
        (good.replace("\"end\":0.5", "\"end\":0"), "an interval that ends before it begins"),
        (good[..good.len() - 20].to_owned(), "the file was cut"),
        (document(&[]), "no interval with datagrams"),
        ("[  5]   0.00-1.00   sec  1.00 MBytes  8.39 Mbits/sec\n".to_owned(), "no interval with datagrams"),
        (text(&[(1, 0)]).replace("[ ID]", "[  7]   0.00-0.50 sec  1 MBytes  1 Mbits/sec  0.1 ms  0/5 (0%)\n[ ID]"), "stream 5 beside stream 7"),
        ("time,throughput_mbps,pkt_drop,pkt_total,loss\n2024-05-27T11:27:24.4,91.5,16274,20371,80\n".to_owned(), "1:1: found a table of intervals without their times"),
    ] {
        let found = refusal(&FORMAT, only(&text), keys);
        assert!(found.contains(words), "{found}");
    }
    let found = refusal(&FORMAT, only(&good), &[]);
    assert!(
        found.contains("iperf3 needs `spread`: iperf3 counts the losses of an interval"),
        "{found}"
    );
    let found = refusal(&FORMAT, only(&good), &[(SPREAD, "even"), (SEED, "2")]);
    assert!(
        found.contains("`seed` applies to `spread` random only"),
        "{found}"
    );
}

proptest! {
    #[test]
    fn every_interval_keeps_its_counts(
        counts in prop::collection::vec((1_u64..60, 0_i64..60), 1..20),
        how in prop::sample::select(vec!["even", "random", "together"]),
        is_text: bool,
    ) {
        let counts: Vec<(u64, i64)> = counts.iter().map(|(of, lost)| (*of, lost % (i64::try_from(*of).unwrap() + 1))).collect();
        let found = spread(&if is_text { text(&counts) } else { document(&counts) }, how);
        prop_assert_eq!(found.slots.len() as u64, counts.iter().map(|it| it.0).sum::<u64>());
        let mut slots = found.slots.iter();
        for (at, (of, lost)) in (0_u64..).zip(&counts) {
            let begin = at * 500_000_000;
            let own: Vec<_> = slots.by_ref().take(usize::try_from(*of).unwrap()).collect();
            prop_assert!(own.iter().all(|slot| (begin..begin + 500_000_000).contains(&slot.0)));
            prop_assert_eq!(own.iter().filter(|slot| slot.1 == 0).count(), usize::try_from(*lost).unwrap());
        }
    }
}
