//! Two correct logs, one for each link, and a function that changes them.

/// Two flows on a timeline: 2 LLDUs per packet, RTT 100 ms, a queue of three packets.
///
/// Line 16 is lost on the link, line 17 is dropped by the queue. Both are sent again. Line 18 is a spurious
/// retransmission. At the end of the run one packet is on the link and one in the queue.
pub(super) const TIMELINE_LOG: &str = "\
# tool: tmt 0.1.0
# command: tmt tcp --rtt 100ms, its, commas, stay
# log: packets
# link: timeline
# rtt_ns: 100000000
# packet_bytes: 1234
# buffer: 3pkt
# lldus_per_packet: 2
# seed: 1
# flows: 2
# comment: times in the log are seconds
# run_ends_ns: 280000000
flow,packet,copy,sent,enqueued,service_start,service_end,first_lldu,last_lldu,delivered,fate,acked
0,0,1,0.000000000,0.000000000,0.000000000,0.001000000,0,1,0.061000000,delivered,0.111000000
0,1,1,0.000000000,0.000000000,0.002000000,0.003000000,2,3,0.082000000,delivered,0.132000000
1,0,1,0.000000000,0.000000000,0.004000000,0.005000000,4,5,,link,0.224000000
1,1,1,0.000000000,0.000000000,,,,,,queue,0.226000000
0,1,2,0.100000000,0.100000000,0.110000000,0.111000000,6,7,0.171000000,delivered,0.132000000
1,0,2,0.112000000,0.112000000,0.113000000,0.114000000,8,9,0.174000000,delivered,0.224000000
1,1,2,0.112000000,0.112000000,0.115000000,0.116000000,10,11,0.176000000,delivered,0.226000000
0,2,1,0.225000000,0.225000000,0.230000000,0.231000000,12,13,,open,
1,2,1,0.279000000,0.279000000,,,,,,open,
# end: rows=9
";

/// The timeline of [`TIMELINE_LOG`].
pub(super) const TIMELINE: &str = "\
# tool: tmt 0.1.0
# scheme: arq
tx_time,decode_delay,attempts
0.000000000,0.010000000,1
0.001000000,0.010000000,1
0.002000000,0.030000000,2
0.003000000,0.010000000,1
0.004000000,0
0.005000000,0.010000000,1
0.110000000,0.010000000,1
0.111000000,0.010000000,1
0.113000000,0.010000000,1
0.114000000,0.010000000,1
0.115000000,0.010000000,1
0.116000000,0.010000000,1
0.230000000,0.010000000,1
0.231000000,0.010000000,1
0.300000000,0.010000000,1
0.301000000,0.010000000,1
# end: rows=16 slots=20 usable_until_ns=301000000
";

/// Packets of 600 B that share the LLDUs of [`TIMELINE`], of which each carries 1000 B.
pub(super) const SHARING_LOG: &str = "\
# tool: tmt 0.1.0
# log: packets
# link: timeline
# packing: bytes
# rtt_ns: 100000000
# packet_bytes: 600
# buffer: 4pkt
# lldus_per_packet: 1
# lldu_payload_bytes: 1000
# seed: 1
# flows: 1
# run_ends_ns: 280000000
flow,packet,copy,sent,enqueued,service_start,service_end,first_lldu,last_lldu,delivered,fate,acked
0,0,1,0.000000000,0.000000000,0.000000000,0.000000000,0,0,0.060000000,delivered,0.110000000
0,1,1,0.000000000,0.000000000,0.000000000,0.001000000,0,1,0.061000000,delivered,0.111000000
0,2,1,0.000000000,0.000000000,0.001000000,0.001000000,1,1,0.061000000,delivered,0.111000000
0,3,1,0.001500000,0.001500000,0.002000000,0.002000000,2,2,0.082000000,delivered,0.132000000
# end: rows=4
";

/// Two flows on a synthetic link: 1 ms per packet, RTT 100 ms, a queue of three packets.
///
/// Lines 16 and 17 are lost as in [`TIMELINE_LOG`]. At the end of the run one packet is on the link.
pub(super) const SYNTHETIC: &str = "\
# tool: tmt 0.1.0
# command: tmt tcp --link synthetic
# log: packets
# link: synthetic
# rtt_ns: 100000000
# packet_bytes: 1000
# buffer: 3pkt
# rate_bps: 8000000
# flows: 2
# seed: 1
# stage: none
# run_ends_ns: 215000000
flow,packet,copy,sent,enqueued,service_start,service_end,first_lldu,last_lldu,delivered,fate,acked
0,0,1,0.000000000,0.000000000,0.000000000,0.001000000,0,0,0.051000000,delivered,0.101000000
0,1,1,0.000000000,0.000000000,0.001000000,0.002000000,1,1,0.052000000,delivered,0.102500000
1,0,1,0.000100000,0.000100000,0.002000000,0.003000000,2,2,,link,0.211000000
1,1,1,0.000200000,0.000200000,,,,,,queue,0.212000000
1,0,2,0.110000000,0.110000000,0.110000000,0.111000000,3,3,0.161000000,delivered,0.211000000
1,1,2,0.110500000,0.110500000,0.111000000,0.112000000,4,4,0.162000000,delivered,0.212000000
0,2,1,0.213000000,0.213000000,0.213000000,0.214000000,5,5,,open,
# end: rows=7
";

/// `log` with the first occurrence of each text replaced by another. Each text must occur.
pub(super) fn with(log: &str, changes: &[(&str, &str)]) -> String {
    changes.iter().fold(log.to_owned(), |log, (from, to)| {
        assert!(log.contains(from), "'{from}' is not in the log");
        log.replacen(from, to, 1)
    })
}
