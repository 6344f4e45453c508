//! Queue disciplines on the arrivals of a run of ns-3, packet for packet (benches/peers, `ns3-queues.cc` with `log`).

use tmt_core::types::{BitRate, Bytes, Time, to_f64};

use super::{Buffer, Context, Discipline, start};
use crate::packet::Packet;

/// A packet at the discipline of ns-3: arrival, number of its queue, size, and begin of service, if it was not dropped; ns, bytes.
struct Arrival {
    at: u64,
    flow: u32,
    bytes: u64,
    begin: Option<u64>,
}

fn arrivals(text: &str) -> Vec<Arrival> {
    let number = |text: &str| text.parse::<u64>().unwrap();
    let rows = text.lines().skip(1).map(|line| {
        let fields: Vec<&str> = line.split(',').collect();
        Arrival {
            at: number(fields[0]),
            flow: fields[1].parse().unwrap(),
            bytes: number(fields[2]),
            begin: fields
                .get(3)
                .filter(|it| !it.is_empty())
                .map(|it| number(it)),
        }
    });
    rows.collect()
}

/// Begins of service under a discipline of ours before a link of `rate`, on which a packet has two bytes of PPP.
fn replay(discipline: &str, arrivals: &[Arrival], rate: BitRate, seed: u64) -> Vec<Option<u64>> {
    let discipline: Discipline = discipline.parse().unwrap();
    let context = Context {
        buffer: Buffer::UNLIMITED,
        packet: Bytes(1498),
        rate: Some(rate),
        seed,
        hop: 0,
    };
    let mut queue = start(&discipline, &context);
    let (mut begins, mut dropped) = (vec![None; arrivals.len()], Vec::new());
    let mut coming = arrivals.iter().zip(0u64..).peekable();
    let time = |nanos| Time::from_nanos(nanos).unwrap();
    let (mut free, mut is_idle) = (0, true);
    loop {
        // The link takes a packet when it is free; what arrives before then is there.
        while let Some((arrival, id)) = coming.next_if(|(arrival, _)| arrival.at <= free || is_idle)
        {
            let packet = Packet {
                id,
                flow: arrival.flow,
                size: Bytes(arrival.bytes),
                ..Packet::default()
            };
            free = free.max(arrival.at);
            is_idle = false;
            queue.enqueue(time(arrival.at), packet, &mut dropped);
        }
        match queue.dequeue(time(free), &mut dropped) {
            Some(packet) => {
                begins[usize::try_from(packet.id).unwrap()] = Some(free);
                free += (packet.size.0 + 2) * 8 * 1_000_000_000 / rate.0;
            }
            None if coming.peek().is_none() => return begins,
            None => is_idle = true,
        }
    }
}

/// The start of a run of ns-3.37: 20 flows, 10 Mbps, seed 1, `ns3-queues flows 20 set ns3::FqCoDelQueueDisc::UseEcn=false log FILE`.
const FQ_CODEL: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../fixtures/reference/peers/fq-codel.csv"
));

/// Packets that arrive in the last 0.5 s of the file are served among others that it does not have.
const END_NS: u64 = 2_700_000_000;

#[test]
fn fq_codel_serves_and_drops_as_in_ns3() {
    let arrivals = arrivals(FQ_CODEL);
    let discipline = "fq-codel:quantum=1514B,flows=65536";
    let begins = replay(discipline, &arrivals, BitRate(10_000_000), 1);
    let both = arrivals.iter().zip(begins);
    let both: Vec<_> = both.filter(|(arrival, _)| arrival.at < END_NS).collect();
    // ns-3 drops one packet later than RFC 8289 where a delay has been above the target for an interval to the microsecond, and
    // its 1/√count is one step of Newton's method, as in Linux. With its arithmetic in place of ours all packets of the 80 s
    // were the same; without, as many are dropped, and they wait 3 % longer.
    let ours = both
        .iter()
        .map(|(it, begin)| begin.map(|begin| begin - it.at));
    let theirs = both
        .iter()
        .map(|(it, _)| it.begin.map(|begin| begin - it.at));
    let waits = |waits: Vec<Option<u64>>| {
        let served: Vec<u64> = waits.iter().copied().flatten().collect();
        let mean_ns = to_f64(served.iter().sum()) / to_f64(served.len() as u64);
        (waits.len() - served.len(), mean_ns)
    };
    let (dropped, mean_ns) = waits(ours.collect());
    let (their_dropped, their_mean_ns) = waits(theirs.collect());
    assert_eq!(their_dropped, 183);
    assert!(dropped.abs_diff(their_dropped) <= 2, "{dropped}");
    let off = mean_ns / their_mean_ns - 1.0;
    assert!(off.abs() < 0.04, "{mean_ns} ns, not {their_mean_ns}");
    let first = both.iter().position(|(it, begin)| it.begin != *begin);
    assert!(first.is_some_and(|first| first > 300), "{first:?}");
}
