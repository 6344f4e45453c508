//! Runs that need more memory or work than a machine has. They are refused before they begin, with the estimate.

use tmt_core::types::{Span, to_f64};

use super::link::Link;
use crate::endpoint::Endpoint;
use crate::experiment::error::{Result, refused};
use crate::experiment::parameters::Experiment;
use crate::experiment::plan::FlowPlan;
use crate::experiment::setting::Setting as _;

/// Memory of a packet in flight, bytes: what sender, receiver, queue and log of events know of it. Measured on runs with
/// 100 000 and 1 000 000 packets in flight: 370 B to 590 B.
const PACKET_BYTES: f64 = 400.0;

/// Most memory of a run that is accepted, bytes: 16 GiB.
const MOST_BYTES: f64 = 17_179_869_184.0;

/// Most packets of a run that are accepted: a day of work at a million a second.
const MOST_PACKETS: f64 = 1e11;

/// Times that each packet of a transfer may be sent; runs that need more are rare.
const COPIES: f64 = 100.0;

/// Packets of a run, at most.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Estimate {
    /// In flight at one time.
    in_flight: f64,
    /// Sent in the whole run.
    sent: f64,
}

/// Limits of the packets of a run.
#[derive(Debug, Clone, Copy)]
struct Limits<'a> {
    /// Rate of the link, packets per second.
    rate: f64,
    /// Round trip without queueing, and length of the run, s.
    rtt: f64,
    length: f64,
    /// Packets that fit the queue.
    buffer: f64,
    /// Packets of all transfers; infinite if one has data without end.
    data: f64,
    /// Per flow: the initial window, and the largest window or all data if that is less, packets.
    flows: &'a [(f64, f64)],
}

impl Estimate {
    fn of(limits: Limits<'_>) -> Self {
        let Limits {
            rate,
            rtt,
            length,
            buffer,
            data,
            flows,
        } = limits;
        let served = rate * length;
        // The path and the queue, which slow start overshoots by a factor of 2.
        let room = 2.0 * (rate * rtt + buffer.min(served));
        let windows: f64 = flows.iter().map(|(_, largest)| largest).sum();
        // A window of fixed size does not heed the room.
        let first: f64 = flows
            .iter()
            .map(|(first, largest)| first.min(*largest))
            .sum();
        let in_flight = windows.min(room).max(first);
        let by_windows = if rtt > 0.0 {
            windows * (length / rtt + 1.0)
        } else {
            f64::INFINITY
        };
        Self {
            in_flight,
            sent: (served + in_flight).min(by_windows).min(COPIES * data),
        }
    }
}

impl Experiment {
    /// Refuses a run of `length` whose packets need too much memory or work.
    pub(super) fn check_size(
        &self,
        link: &Link,
        endpoint: &Endpoint,
        flows: &[FlowPlan],
        buffer: u64,
        length: Span,
    ) -> Result<()> {
        let Some(rate_bps) = link.rate_bps else {
            return Ok(());
        };
        let connection = endpoint.connection(self.packet());
        let data = |plan: &FlowPlan| plan.flow.packets().map_or(f64::INFINITY, to_f64);
        let window = |plan: &FlowPlan| {
            let first = crate::congestion::start(&plan.flow.algorithm, &connection).cwnd();
            let data = plan.flow.packets().unwrap_or(u64::MAX);
            (first, to_f64(endpoint.rwnd.min(data)))
        };
        let of_tcp = flows.iter().filter(|plan| plan.datagrams.is_none());
        let windows: Vec<(f64, f64)> = of_tcp.clone().map(window).collect();
        let rtt = link.rtt.saturating_add(link.decode_delay);
        let rtt = rtt.saturating_add(self.terrestrial_rtt());
        let mut estimate = Estimate::of(Limits {
            rate: rate_bps / 8.0 / to_f64(self.packet().0),
            rtt: rtt.as_secs_f64(),
            length: length.as_secs_f64(),
            buffer: to_f64(buffer),
            data: of_tcp.map(data).sum(),
            flows: &windows,
        });
        for form in flows.iter().filter_map(|plan| plan.datagrams) {
            // Arrivals are in a table, whose length is limited.
            let Some(mean_bps) = form.mean_rate_bps() else {
                continue;
            };
            let per_second = mean_bps / 8.0 / to_f64(form.size().0);
            let sent = per_second * length.as_secs_f64();
            estimate.sent += sent;
            estimate.in_flight += sent.min(per_second * rtt.as_secs_f64() + to_f64(buffer));
        }
        let bytes = estimate.in_flight * PACKET_BYTES;
        if bytes > MOST_BYTES {
            let (packets, gigabytes) = (estimate.in_flight, bytes / 1e9);
            let most = MOST_BYTES / PACKET_BYTES;
            return refused(
                "rwnd",
                format!(
                    "`rwnd` {}: {packets:.1e} packets may be in flight, about {gigabytes:.0} GB of memory; expected at most {most:.1e}; \
                     limit `rwnd`, or reduce `rate`, `rtt`, `buffer` or the flows",
                    self.receiver_window().text()
                ),
            );
        }
        if estimate.sent > MOST_PACKETS {
            let days = estimate.sent / 1e6 / 86_400.0;
            return refused(
                "duration",
                format!(
                    "`duration`: {:.1e} packets may be sent, which take {days:.0} days at a million a second; expected at most \
                     {MOST_PACKETS:.0e}; reduce `duration`, `rate` or `rwnd`, or limit the transfers (`bytes`)",
                    estimate.sent
                ),
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(rate: f64, buffer: f64, flows: &[(f64, f64)]) -> Estimate {
        Estimate::of(Limits {
            rate,
            rtt: 0.5,
            length: 10.0,
            buffer,
            data: f64::INFINITY,
            flows,
        })
    }

    #[test]
    fn the_smallest_limit_counts() {
        // Twice the path and the queue of 100 packets.
        let by_room = estimate(1000.0, 100.0, &[(10.0, 1e12)]);
        assert_eq!(
            by_room,
            Estimate {
                in_flight: 1200.0,
                sent: 11_200.0
            }
        );
        // The windows, once a round trip.
        let by_window = estimate(1e14, 100.0, &[(10.0, 64.0), (10.0, 36.0)]);
        assert_eq!(
            by_window,
            Estimate {
                in_flight: 100.0,
                sent: 2100.0
            }
        );
        // A fixed window, regardless of what the link carries, but not beyond the receiver's.
        let in_flight = |buffer, flow| estimate(1000.0, buffer, &[flow]).in_flight.to_string();
        assert_eq!(in_flight(100.0, (1e6, 1e12)), "1000000");
        assert_eq!(in_flight(100.0, (1e6, 50.0)), "50");
        // A queue without a limit holds no more than arrives.
        assert_eq!(in_flight(1e12, (10.0, 1e12)), "21000");
    }
}
