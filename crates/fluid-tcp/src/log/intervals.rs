//! `--interval`: lines per interval in the form of iperf3.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use tmt_core::types::{Bytes, Span, Time, to_f64};

use crate::endpoint::Transmission;
use crate::endpoint::sender::Snapshot;
use crate::simulation::probe::{Probe, SenderEvent};
use crate::simulation::{Flow, Setup};

/// Header of the lines.
const HEADER: &str = "[ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n";

/// State of one flow.
#[derive(Debug)]
struct FlowState {
    flow: Flow,
    /// Packet that the receiver expects next, and packets that it has above.
    next: u64,
    above: BTreeSet<u64>,
    /// The same number at the start of the interval.
    before: u64,
    /// Payload of datagrams in the interval, bytes.
    datagrams: u64,
    /// Retransmissions in the interval.
    retransmissions: u64,
    /// Congestion window, segments.
    cwnd: f64,
}

/// Probe that reports each interval: payload delivered in order, retransmissions, and the window at its end.
///
/// An event at the very end of an interval belongs to the next one. With several flows a line `[SUM]` follows theirs.
#[derive(Debug)]
pub struct Intervals {
    length: Span,
    begin: Time,
    /// Begin of the current interval.
    at: Time,
    /// Time of the latest event, and the last time that belongs to the run.
    latest: Time,
    end: Time,
    packet: Bytes,
    flows: Vec<FlowState>,
    text: String,
}

impl Intervals {
    /// Reports a run of `setup` in intervals of `length`, which must not be zero.
    #[must_use]
    pub fn new(setup: &Setup, length: Span) -> Self {
        let flow = |flow: &Flow| FlowState {
            flow: flow.clone(),
            next: 0,
            above: BTreeSet::new(),
            before: 0,
            datagrams: 0,
            retransmissions: 0,
            cwnd: 0.0,
        };
        Self {
            length,
            begin: setup.begin,
            at: setup.begin,
            latest: setup.begin,
            end: setup.end,
            packet: setup.packet,
            flows: setup.numbered().map(|of| flow(&of)).collect(),
            text: HEADER.to_owned(),
        }
    }

    /// The lines of the run; the last interval may be shorter.
    #[must_use]
    pub fn finish(mut self) -> String {
        let is_complete =
            |flow: &FlowState| flow.flow.packets().is_some_and(|all| flow.next >= all);
        // A run ends early if all transfers are complete.
        let end = if self.flows.iter().all(is_complete) {
            self.latest
        } else {
            self.end
        };
        self.advance(end);
        if self.at < end {
            self.line(end);
        }
        self.text
    }

    /// Completes the intervals up to `now`.
    fn advance(&mut self, now: Time) {
        self.latest = now;
        while let Some(end) = self.at.checked_add(self.length)
            && end <= now
        {
            self.line(end);
        }
    }

    /// Writes the interval that ends at `end`.
    fn line(&mut self, end: Time) {
        let seconds = |time: Time| time.since(self.begin).as_secs_f64();
        let (from, to) = (seconds(self.at), seconds(end));
        let line = |id: &str, bytes: u64, retransmissions: u64, cwnd: &str| {
            let transfer = adaptive(to_f64(bytes), 1024.0, "Byte");
            let rate = adaptive(to_f64(bytes) * 8.0 / (to - from), 1000.0, "bit");
            format!(
                "[{id:>3}] {from:>6.2}-{to:<6.2} sec  {transfer}s  {rate}s/sec  {retransmissions:>3}   {cwnd:>11}\n"
            )
        };
        let (mut all, mut again) = (0, 0);
        for (number, flow) in self.flows.iter_mut().enumerate() {
            let payload = |packets| flow.flow.payload_of(packets, self.packet);
            let in_order = payload(flow.next) - payload(flow.before);
            let bytes = in_order + std::mem::take(&mut flow.datagrams);
            let cwnd = adaptive(
                flow.cwnd * to_f64(flow.flow.payload(self.packet).0),
                1024.0,
                "Byte",
            ) + "s";
            self.text += line(&number.to_string(), bytes, flow.retransmissions, &cwnd).trim_end();
            self.text.push('\n');
            all += bytes;
            again += flow.retransmissions;
            (flow.before, flow.retransmissions) = (flow.next, 0);
        }
        if self.flows.len() > 1 {
            self.text += line("SUM", all, again, "").trim_end();
            self.text.push('\n');
        }
        self.at = end;
    }
}

/// A number with its unit as iperf3 prints it: three digits, and the largest prefix for which it is at least 1.
fn adaptive(mut number: f64, step: f64, unit: &str) -> String {
    let mut prefixes = ["", "K", "M", "G", "T"].into_iter();
    let mut prefix = prefixes.next().unwrap_or_default();
    while number >= step
        && let Some(next) = prefixes.next()
    {
        (number, prefix) = (number / step, next);
    }
    let mut text = String::new();
    let _ = match number {
        small if small < 9.995 => write!(text, "{small:4.2}"),
        middle if middle < 99.95 => write!(text, "{middle:4.1}"),
        large => write!(text, "{large:4.0}"),
    };
    format!("{text} {prefix}{unit}")
}

impl Probe for Intervals {
    fn on_sent(&mut self, now: Time, transmission: Transmission) {
        self.advance(now);
        let again = u64::from(transmission.copy > 1);
        self.flows[transmission.flow].retransmissions += again;
    }

    fn on_delivered(&mut self, now: Time, transmission: Transmission) {
        self.advance(now);
        let flow = &mut self.flows[transmission.flow];
        if flow.flow.hosts.is_some() {
            flow.datagrams += flow.flow.payload(transmission.size).0;
            return;
        }
        if transmission.packet >= flow.next {
            flow.above.insert(transmission.packet);
        }
        while flow.above.remove(&flow.next) {
            flow.next += 1;
        }
    }

    fn on_sender(
        &mut self,
        now: Time,
        flow: usize,
        _: SenderEvent,
        sender: &Snapshot,
        _: u64,
        _: u64,
    ) {
        self.advance(now);
        self.flows[flow].cwnd = sender.cwnd;
    }
}

#[cfg(test)]
mod tests {
    use tmt_core::types::{Bytes, NANOS_PER_SECOND};

    use super::*;
    use crate::congestion::Algorithm;
    use crate::endpoint::Profile;

    #[test]
    fn numbers_have_three_digits_and_the_prefix_of_iperf3() {
        // As iperf3 prints 1 179 648 B in a second: 1.12 MBytes, 9.44 Mbits/sec.
        for (number, step, unit, text) in [
            (1_179_648.0, 1024.0, "Byte", "1.12 MByte"),
            (9_437_184.0, 1000.0, "bit", "9.44 Mbit"),
            (0.0, 1024.0, "Byte", "0.00 Byte"),
            (1023.0, 1024.0, "Byte", "1023 Byte"),
            (1024.0, 1024.0, "Byte", "1.00 KByte"),
            (99_960.0, 1000.0, "bit", " 100 Kbit"),
            (12_345.0, 1000.0, "bit", "12.3 Kbit"),
            (5e15, 1000.0, "bit", "5000 Tbit"),
        ] {
            assert_eq!(adaptive(number, step, unit), text);
        }
    }

    #[test]
    fn each_interval_has_what_arrived_in_order_in_it() {
        let flow = || Flow::new(Algorithm::default(), Profile::Rfc.endpoint());
        let setup = Setup {
            packet: Bytes(1064),
            ..Setup::new(
                vec![flow(), flow()],
                Span::from_millis(100),
                Span::from_millis(2500),
            )
        };
        let mut lines = Intervals::new(&setup, Span::from_secs(1));
        let at = |tenths: u64| Time::from_nanos(tenths * NANOS_PER_SECOND / 10).unwrap();
        let copy = |flow, packet, copy| Transmission {
            flow,
            packet,
            copy,
            ..Transmission::default()
        };
        // Packet 0 of flow 0 arrives after packet 1, which then counts too; the third packet arrives in another second.
        lines.on_delivered(at(2), copy(0, 1, 1));
        lines.on_sent(at(3), copy(0, 0, 2));
        lines.on_delivered(at(9), copy(0, 0, 2));
        lines.on_delivered(at(10), copy(1, 0, 1));
        lines.on_delivered(at(20), copy(0, 2, 1));
        // 2048 B in the first second, 1024 B in the next, 1024 B in the half after it.
        let expected = "\
[ ID] Interval           Transfer     Bitrate         Retr  Cwnd
[  0]   0.00-1.00   sec  2.00 KBytes  16.4 Kbits/sec    1    0.00 Bytes
[  1]   0.00-1.00   sec  0.00 Bytes  0.00 bits/sec    0    0.00 Bytes
[SUM]   0.00-1.00   sec  2.00 KBytes  16.4 Kbits/sec    1
[  0]   1.00-2.00   sec  0.00 Bytes  0.00 bits/sec    0    0.00 Bytes
[  1]   1.00-2.00   sec  1.00 KBytes  8.19 Kbits/sec    0    0.00 Bytes
[SUM]   1.00-2.00   sec  1.00 KBytes  8.19 Kbits/sec    0
[  0]   2.00-2.50   sec  1.00 KBytes  16.4 Kbits/sec    0    0.00 Bytes
[  1]   2.00-2.50   sec  0.00 Bytes  0.00 bits/sec    0    0.00 Bytes
[SUM]   2.00-2.50   sec  1.00 KBytes  16.4 Kbits/sec    0
";
        assert_eq!(lines.finish(), expected);
    }
}
