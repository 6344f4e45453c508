//! Settings of both hosts: the profile, overridden by parameters.

use std::collections::BTreeSet;

use tmt_core::math::num::floor_u64;
use tmt_core::types::{Bytes, Note, Span, to_f64};

use tmt_link::queue::Discipline;

use super::link::Link;
use crate::congestion::Algorithm;
use crate::endpoint::{Endpoint, LossDetection, Recovery, RttSampling, TimerRestart};
use crate::experiment::counted::counted;
use crate::experiment::error::{Result, refused};
use crate::experiment::parameters::{Experiment, Parameter};
use crate::experiment::plan::FlowPlan;
use crate::experiment::setting::Setting as _;
use crate::experiment::values::{DelayedAck, PathKind, ReceiverWindow};

/// Smallest upper bound of the RTO. With less, a run is nothing but timeouts.
const MIN_MAX_RTO: Span = Span::from_millis(1);

impl Experiment {
    /// The settings of the profile, overridden by the parameters.
    pub(super) fn endpoint(&self) -> Result<Endpoint> {
        let mut endpoint = self.profile().endpoint();
        self.write_endpoint(&mut endpoint);
        endpoint.rwnd = self.receiver_window().packets(self.packet());
        // A receive buffer is measured by the payload that it has room for.
        let payload = Bytes(self.packet().0.saturating_sub(endpoint.headers.0).max(1));
        let first = self.first_receiver_window().packets(payload);
        endpoint.first_rwnd = first.min(endpoint.rwnd);
        self.check_timeouts(&mut endpoint)?;
        if self.path() == PathKind::Split {
            // The proxy acknowledges at once.
            endpoint.delayed_ack = 1;
            // Its buffer is the window.
            endpoint.first_rwnd = endpoint.rwnd;
            endpoint.quick_while_growing = false;
        }
        self.check_loss_recovery(&mut endpoint)?;
        Ok(endpoint)
    }

    /// The receiver's window: that of the parameter, else of the profile.
    pub(super) fn receiver_window(&self) -> ReceiverWindow {
        self.rwnd.unwrap_or_else(|| self.profile().into())
    }

    /// The window for which the receive buffer has room at first: that of the parameter, else of the profile.
    pub(super) fn first_receiver_window(&self) -> ReceiverWindow {
        let of_profile = || ReceiverWindow::first_of(self.profile());
        self.first_rwnd.unwrap_or_else(of_profile)
    }

    /// Warns of a default window that keeps the flows from filling the link.
    pub(super) fn window_warning(
        &self,
        link: &Link,
        endpoint: &Endpoint,
        flows: usize,
    ) -> Option<Note> {
        let rtt = match self.path() {
            PathKind::EndToEnd => link.rtt.saturating_add(link.decode_delay),
            // The proxy acknowledges.
            PathKind::Split => Span::ZERO,
        };
        let rtt = rtt.saturating_add(self.terrestrial_rtt());
        let product = link.rate_bps? * rtt.as_secs_f64() / 8.0 / to_f64(self.packet().0);
        let window = endpoint.receiver_window()?;
        let short =
            flows > 0 && self.rwnd.is_none() && to_f64(window) * to_f64(flows as u64) < product;
        short.then(|| {
            let product = floor_u64(product.ceil());
            Note::warning(format!(
                "the receive window of {} ({}, default) per flow is smaller than the bandwidth-delay product of {}: it limits the goodput; `rwnd` unlimited lifts it",
                counted(window, "packet"),
                self.receiver_window().text(),
                counted(product, "packet")
            ))
        })
    }

    /// Refuses congestion controls that the host settings or the queue do not support.
    pub(super) fn check_controls(&self, endpoint: &Endpoint, flows: &[FlowPlan]) -> Result<()> {
        for control in controls(flows) {
            let started = crate::congestion::start(control, &endpoint.connection(self.packet()));
            if started.needs_rate_samples() && !endpoint.sack {
                return refused(
                    "cc",
                    format!(
                        "`cc` {control} needs `sack` on: it samples the delivery rate of single packets"
                    ),
                );
            }
            if endpoint.ecn && !started.supports_ecn() {
                return refused(
                    "ecn",
                    format!(
                        "`ecn` on cannot be combined with `cc` {control}, which does not support ECN"
                    ),
                );
            }
        }
        let queue = self.queue();
        let beside = [
            ("terrestrial_queue", self.terrestrial_queue.as_ref()),
            ("far_queue", self.far_queue.as_ref()),
        ];
        let beside = beside.map(|(key, queue)| Some((key, queue?)));
        let all = [Some(("queue", &queue))].into_iter().chain(beside);
        for (key, queue) in all.clone().flatten() {
            if let Some(why) = (queue.entry().make.refuses)(queue.values()) {
                return refused(key, format!("`{key}` {queue}: {why}"));
            }
        }
        if endpoint.ecn && !all.flatten().any(|(_, queue)| queue.entry().make.marks) {
            let queues = Discipline::entries().into_iter();
            let marking = queues.filter(|entry| entry.make.marks);
            let marking: Vec<&str> = marking.map(|entry| entry.name).collect();
            return refused(
                "ecn",
                format!(
                    "`ecn` on needs `queue` {}: a {} queue does not mark",
                    marking.join(" or "),
                    queue.entry().name
                ),
            );
        }
        Ok(())
    }

    fn check_timeouts(&self, endpoint: &mut Endpoint) -> Result<()> {
        let (least, most) = (endpoint.rto.min, endpoint.rto.max);
        if most < least || most.is_zero() {
            let message = format!(
                "`max_rto` {most}: expected more than 0s and at least `min_rto`, which is {least}"
            );
            return refused("max_rto", message);
        }
        if self
            .first_rto
            .is_some_and(|first| first < least || first > most)
        {
            return refused(
                "first_rto",
                format!(
                    "`first_rto`: expected a value from `min_rto` ({least}) to `max_rto` ({most})"
                ),
            );
        }
        endpoint.rto.first = endpoint.rto.first.clamp(least, most);
        if most < MIN_MAX_RTO {
            return refused(
                "max_rto",
                format!("`max_rto` {most}: expected at least {MIN_MAX_RTO}"),
            );
        }
        // A timeout of zero would fire without time passing.
        if least.is_zero() && endpoint.rto.tick.is_zero() {
            return refused(
                "min_rto",
                "`min_rto` 0s needs `rto_tick` above 0ns: an RTO of zero would never let time pass",
            );
        }
        if endpoint.rto.first.is_zero() {
            return refused("first_rto", "`first_rto`: expected more than 0s");
        }
        Ok(())
    }

    /// Settings that need SACK: without it, those of the profile are disabled, and those of parameters are refused.
    fn check_loss_recovery(&self, endpoint: &mut Endpoint) -> Result<()> {
        if !endpoint.sack {
            let per_packet = "it tracks single packets";
            let needs = [
                ("loss_detection", LossDetection::Rack.name(), per_packet),
                ("f_rto", "on", per_packet),
                ("recovery", Recovery::Prr.name(), "it counts SACKed packets"),
                (
                    "recovery",
                    Recovery::Prr9937.name(),
                    "it counts SACKed packets",
                ),
                ("rtt_sampling", RttSampling::PerSack.name(), per_packet),
                ("timer_restart", TimerRestart::Sacked.name(), per_packet),
            ];
            for (key, value, why) in needs {
                let given = Parameter::of(key).and_then(|parameter| parameter.text(self));
                if given.as_deref() == Some(value) {
                    return refused(key, format!("`{key}` {value} needs `sack` on: {why}"));
                }
            }
            endpoint.loss_detection = LossDetection::DupAcks;
            endpoint.f_rto = false;
            endpoint.recovery = Recovery::Halving;
            if endpoint.rtt_sampling == RttSampling::PerSack {
                endpoint.rtt_sampling = RttSampling::PerAck;
            }
            endpoint.timer_restart = TimerRestart::Acked;
        }
        if !(endpoint.sack && endpoint.timestamps) {
            if self.undo_recovery == Some(true) {
                let message =
                    "`undo_recovery` on needs `sack` and `timestamps` on: it compares echoed times";
                return refused("undo_recovery", message);
            }
            endpoint.undo_recovery = false;
        }
        if endpoint.loss_detection != LossDetection::Rack {
            if self.tail_loss_probe == Some(true) {
                return refused(
                    "tail_loss_probe",
                    "`tail_loss_probe` on needs `loss_detection` rack",
                );
            }
            endpoint.tail_loss_probe = false;
        }
        Ok(())
    }

    /// Congestion control and settings of both hosts, as one line of text.
    pub(super) fn settings_note(&self, endpoint: &Endpoint, flows: &[FlowPlan]) -> String {
        let applications = super::applications::words(flows);
        let controls: BTreeSet<String> = controls(flows).map(ToString::to_string).collect();
        if controls.is_empty()
            && let Some(applications) = applications
        {
            return format!("applications {applications}, over UDP");
        }
        let mut suffix = String::new();
        if super::applications::have_pauses(flows) {
            suffix += &format!(", idle restart {}", endpoint.idle_restart);
        }
        if let Some(applications) = applications {
            suffix += &format!(", applications {applications}");
        }
        let control = controls.into_iter().collect::<Vec<_>>().join(" and ");
        let mut delayed_ack = DelayedAck(endpoint.delayed_ack).text();
        if endpoint.delayed_ack > 1 {
            delayed_ack += &format!(" ({})", endpoint.delayed_ack_timer);
        }
        let window = match self.receiver_window() {
            ReceiverWindow::Bytes(bytes) => format!("{}pkt ({bytes})", endpoint.rwnd),
            window => window.text(),
        };
        format!(
            "cc {control}, profile {}: headers {}, sack {}, delayed ack {delayed_ack}, quick acks {}, iw {}, rto {} at first, {} to {}, \
             tick {}, margin {}, loss detection {}, tail loss probe {}, f-rto {}, ecn {}, pacing {}, \
             limited transmit {}, recovery {}, rtt sampling {}, cut from {}, rwnd {}, window validation {}, \
             growth {}, cubic {}, hystart {}, bbr min_rtt {}, bbr quantum {}, handshake {}{suffix}",
            self.profile(),
            endpoint.headers,
            endpoint.sack.text(),
            endpoint.quick_acks,
            endpoint.initial_window,
            endpoint.rto.first,
            endpoint.rto.min,
            endpoint.rto.max,
            endpoint.rto.tick,
            endpoint.rto.margin,
            endpoint.loss_detection,
            endpoint.tail_loss_probe.text(),
            endpoint.f_rto.text(),
            endpoint.ecn.text(),
            endpoint.pacing.text(),
            endpoint.limited_transmit.text(),
            endpoint.recovery,
            endpoint.rtt_sampling,
            endpoint.cut_from,
            window,
            endpoint.window_validation.text(),
            endpoint.congestion.growth,
            endpoint.congestion.cubic,
            endpoint.congestion.hystart,
            endpoint.congestion.bbr_min_rtt,
            endpoint.congestion.bbr_quantum,
            endpoint.handshake.text(),
        )
    }
}

/// The congestion controls, each once per group of successive flows that share it.
fn controls(flows: &[FlowPlan]) -> impl Iterator<Item = &Algorithm> {
    let runs = flows.chunk_by(|one, other| {
        one.flow.algorithm == other.flow.algorithm
            && one.flow.hosts.is_none() == other.flow.hosts.is_none()
    });
    let runs = runs.filter(|run| run[0].flow.hosts.is_none());
    runs.map(|run| &run[0].flow.algorithm)
}
