//! Counts of transmissions, sums, and rates.

use tmt_core::types::Bytes;

use super::*;
use crate::congestion::Algorithm;
use crate::endpoint::Profile;
use crate::simulation::{Flow, Setup};

#[test]
fn a_packet_counts_once_by_its_last_retransmission() {
    let mut tally = FlowTally::all(&[0], false, [false; 2]).next().unwrap();
    for (ordinal, copy) in (0..).zip([1, 1, 1, 2, 2, 3]) {
        tally.on_sent(ordinal, copy);
    }
    // Three packets, sent once, twice and three times.
    let packets = BTreeMap::from([(0, 1), (1, 1), (2, 1)]);
    assert_eq!(tally.counts.retransmissions(), packets);
}

#[test]
fn the_total_is_complete_when_the_last_flow_is() {
    let mut tallies = FlowTally::all(&[0, 1], false, [false; 2]);
    let flow = || Flow::new(Algorithm::default(), Profile::Rfc.endpoint());
    let setup = Setup::new(vec![flow(), flow()], Span::ZERO, Span::ZERO);
    let (mut one, mut other) = (tallies.next().unwrap(), tallies.next().unwrap());
    let completion = |flows: &[&FlowTally]| {
        let (_, total) = Observed::all(&setup, Span::ZERO, None, flows);
        total.completion()
    };
    one.complete(Span::from_secs(3));
    assert_eq!(completion(&[&one, &other]), None);
    assert_eq!(completion(&[&other, &one]), None);
    other.complete(Span::from_secs(2));
    assert_eq!(completion(&[&one, &other]), Some(3.0));
    assert_eq!(completion(&[]), None);
}

/// A flow that starts after `start` seconds and delivers `packets` packets, the last of them `completes` seconds
/// after the start of the run.
fn transferred(flow: Flow, packets: u64, completes: Option<u32>) -> (Flow, FlowTally) {
    let mut tally = FlowTally::all(&[0], false, [false; 2]).next().unwrap();
    tally.counts.values[Count::Delivered as usize] = packets;
    tally.counts.values[Count::Payload as usize] = flow.payload_of(packets, Bytes(1500));
    tally.counts.completion = completes.map(|at| Span::from_secs(at).saturating_sub(flow.start));
    (flow, tally)
}

#[test]
fn rates_are_over_the_time_of_each_flow_and_shares_over_the_run() {
    let flow = |start: u32| {
        let flow = Flow::new(Algorithm::default(), Profile::Rfc.endpoint());
        flow.starting(Span::from_secs(start))
    };
    let sized = |start, bytes| flow(start).of_bytes(Bytes(bytes), Bytes(1500)).unwrap();
    let (flows, tallies): (Vec<Flow>, Vec<FlowTally>) = [
        // Endless, from 10 s to the end at 30 s: 2000 packets of 1460 B.
        transferred(flow(10), 2000, None),
        // 100 kB in 69 packets, from 4 s to 8 s.
        transferred(sized(4, 100_000), 69, Some(8)),
        // Not complete: to the end of the run. All its packets are full.
        transferred(sized(20, 100_000), 50, None),
        // Begins after the run.
        transferred(flow(31), 0, None),
    ]
    .into_iter()
    .unzip();
    let setup = Setup::new(flows, Span::ZERO, Span::ZERO);
    let tallies: Vec<&FlowTally> = tallies.iter().collect();
    let (mut flows, total) = Observed::all(&setup, Span::from_secs(30), Some(4238.0), &tallies);
    let payload: Vec<_> = flows.iter().map(Observed::payload_rate).collect();
    let expected = [1_168_000.0, 200_000.0, 58_400.0];
    assert_eq!(payload[..3], expected.map(Some));
    assert_eq!(payload[3], None);
    // Packets above a gap count in the throughput only.
    flows[2].counts.to_mut().values[Count::AboveGap as usize] = 5;
    let packets: Vec<_> = flows.iter().map(Observed::packet_rate).collect();
    assert_eq!(packets[..3], [1_200_000.0, 207_000.0, 66_000.0].map(Some));
    // 2 920 000 + 100 000 + 73 000 B from 4 s to 30 s.
    let rate = total.payload_rate().unwrap();
    assert!((rate - 8.0 * 3_093_000.0 / 26.0).abs() < 1e-6, "{rate}");
    let shares: f64 = flows.iter().filter_map(Observed::link_share).sum();
    assert!((shares - 0.5).abs() < 1e-12, "{shares}");
    assert_eq!(total.link_share(), Some(0.5));
}
