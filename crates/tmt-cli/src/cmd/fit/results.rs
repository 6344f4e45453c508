//! Results of `tmt fit`, and the lines for other commands.

use serde::Serialize;
use tmt_core::channel::SlotChannel;
use tmt_core::math::num;
use tmt_core::types::{BitRate, Bytes, Span, Time, to_f64};
use tmt_fit::fit::Texts;
use tmt_fit::period::{Period, Periodicity, reconfiguration};
use tmt_fit::{Drift, Fit, Sequence, never_seen_bound};

use crate::exit::{Failure, Outcome};
use crate::input::process::quoted;

/// The link for which parameters are wanted, too.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    pub(super) interval_s: f64,
    rate: Option<(BitRate, Bytes)>,
}

impl Link {
    pub(super) fn of(
        interval: Option<Span>,
        rate: Option<(BitRate, Bytes)>,
    ) -> Outcome<Option<Self>> {
        let Some((rate, packet)) = rate else {
            return Ok(interval.map(|interval| Self {
                interval_s: interval.as_secs_f64(),
                rate: None,
            }));
        };
        if rate.0 == 0 || packet.0 == 0 {
            return Err(Failure::usage(
                "--at-rate and --packet: found 0, expected more than 0",
            ));
        }
        Ok(Some(Self {
            interval_s: to_f64(packet.0) * 8.0 / to_f64(rate.0),
            rate: Some((rate, packet)),
        }))
    }
}

/// Periods, in JSON.
#[derive(Debug, Serialize)]
pub(super) struct Periods {
    /// The period of losses, which was set apart.
    pub(super) losses: Option<Period>,
    /// Smallest probability over all periods if none was found; null if there was no test.
    pub(super) losses_p_value: Option<f64>,
    /// Longest period without a finding that was tried, s; null if all were found, or none was tried.
    pub(super) longest_tried_s: Option<u64>,
    /// The period of changes of the delay.
    pub(super) delays: Option<Period>,
    pub(super) delays_p_value: Option<f64>,
    /// Slots in the windows of the period of losses.
    pub(super) slots_inside: u64,
    pub(super) lost_inside: u64,
    /// Share of all losses that is in the windows; null without losses.
    pub(super) share_of_losses: Option<f64>,
    /// A process with the same period and losses; null without a period.
    pub(super) channel: Option<String>,
}

impl Periods {
    pub(super) fn new(
        losses: &Periodicity,
        delays: &Periodicity,
        inside: [u64; 2],
        rest: &Sequence,
    ) -> Self {
        let split = |found: &Periodicity| match found {
            Periodicity::Found(period) => (Some(*period), Some(period.p_value), None),
            Periodicity::None { p_value, longest_s } => (None, Some(*p_value), Some(*longest_s)),
            Periodicity::Untested => (None, None, None),
        };
        let (losses, losses_p_value, losses_longest) = split(losses);
        let (delays, delays_p_value, delays_longest) = split(delays);
        let all = inside[1] + rest.lost();
        Self {
            channel: losses
                .as_ref()
                .and_then(|period| reconfiguration(period, inside, rest).ok()),
            losses,
            losses_p_value,
            longest_tried_s: losses_longest.or(delays_longest),
            delays,
            delays_p_value,
            slots_inside: inside[0],
            lost_inside: inside[1],
            share_of_losses: tmt_core::stats::ratio(inside[1], all),
        }
    }
}

/// Inputs of the results.
pub(super) struct Results<'a> {
    pub(super) name: &'a str,
    pub(super) whole: &'a Sequence,
    pub(super) sequence: &'a Sequence,
    pub(super) interval_s: Option<f64>,
    pub(super) length_s: f64,
    pub(super) decode_delay_s: Option<f64>,
    pub(super) periods: Periods,
    pub(super) fits: Vec<Fit>,
    pub(super) link: Option<Link>,
    pub(super) of_head: Option<(BitRate, Bytes)>,
}

/// The results, in JSON.
#[derive(Debug, Serialize)]
pub(super) struct Shown {
    pub(super) slots: u64,
    pub(super) lost: u64,
    pub(super) bursts: u64,
    pub(super) loss_ratio: Option<f64>,
    /// Mean time between two slots; null for a single one.
    pub(super) interval_s: Option<f64>,
    pub(super) period: Periods,
    /// Slots without those in the windows of the period.
    pub(super) slots_fitted: u64,
    pub(super) lost_fitted: u64,
    pub(super) bursts_fitted: u64,
    /// Whether the loss ratio of these slots is the same throughout.
    pub(super) drift: Drift,
    /// Bound at 95 % of the probability that a slot is lost, if none was, or received, if none was; null otherwise.
    pub(super) never_seen_bound: Option<f64>,
    /// Criterion that orders the fits.
    pub(super) criterion: &'static str,
    pub(super) fits: Vec<Fit>,
    pub(super) commands: Vec<Ready>,
    #[serde(skip)]
    chosen: Result<String, String>,
}

/// A command with the best model.
#[derive(Debug, Serialize)]
pub(super) struct Ready {
    /// Time between two packets for which it holds, s; null for any.
    pub(super) interval_s: Option<f64>,
    /// The program.
    pub(super) program: &'static str,
    pub(super) line: String,
}

impl Shown {
    /// The process of the best model, at the interval that was asked for.
    pub(super) fn chosen_process(&self) -> Result<String, String> {
        self.chosen.clone()
    }
}

impl Results<'_> {
    pub(super) fn finish(self) -> Shown {
        let (slots, lost) = (self.whole.slots(), self.whole.lost());
        let (slots_fitted, lost_fitted) = (self.sequence.slots(), self.sequence.lost());
        let one_kind = lost_fitted == 0 || lost_fitted == slots_fitted;
        Shown {
            slots,
            lost,
            bursts: self.whole.burst_count(),
            loss_ratio: tmt_core::stats::ratio(lost, slots),
            interval_s: self.interval_s,
            slots_fitted,
            lost_fitted,
            bursts_fitted: self.sequence.burst_count(),
            drift: Drift::of(self.sequence),
            never_seen_bound: (one_kind && slots_fitted > 0)
                .then(|| never_seen_bound(slots_fitted)),
            criterion: "bic",
            commands: self.commands(),
            chosen: self.chosen(),
            period: self.periods,
            fits: self.fits,
        }
    }

    fn chosen(&self) -> Result<String, String> {
        let Some(best) = self.fits.first() else {
            return Err(format!(
                "{}: no slots outside the windows of the period",
                self.name
            ));
        };
        let (process, reason) = match &best.at_interval {
            Some(at) => (at.process.as_ref(), at.reason.clone()),
            None => (Some(&best.process), None),
        };
        let text = process.and_then(|texts| texts.channel.clone());
        text.ok_or_else(|| {
            let reason = reason.unwrap_or_default();
            format!("{}: {}: {reason}", self.name, best.model)
        })
    }

    /// Lines for the process at the interval of the trace, and at the one that was asked for.
    fn commands(&self) -> Vec<Ready> {
        let Some(best) = self.fits.first() else {
            return Vec::new();
        };
        let mut lines = self.lines(
            &best.process,
            self.interval_s,
            self.of_head,
            self.of_head.is_some(),
        );
        if let (Some(link), Some(at)) = (self.link, &best.at_interval)
            && let Some(texts) = &at.process
        {
            lines.extend(self.lines(texts, Some(link.interval_s), link.rate, true));
        }
        if let Some(channel) = &self.periods.channel {
            lines.push(Ready {
                interval_s: None,
                program: "tmt inject",
                line: format!("tmt inject --channel {channel} TRACE"),
            });
        }
        lines
    }

    fn lines(
        &self,
        texts: &Texts,
        interval_s: Option<f64>,
        rate: Option<(BitRate, Bytes)>,
        has_rate: bool,
    ) -> Vec<Ready> {
        let mut lines = Vec::new();
        let mut push = |program, line| {
            lines.push(Ready {
                interval_s,
                program,
                line,
            });
        };
        let process = texts
            .channel
            .as_ref()
            .and_then(|text| text.parse::<SlotChannel>().ok());
        if let Some(process) = process {
            let channel = quoted(&process);
            push(
                "tmt inject",
                format!("tmt inject --channel {channel} TRACE"),
            );
            let span = |seconds: f64| Span::from_nanos(num::floor_u64(seconds * 1e9 + 0.5).max(1));
            let duration = span(self.length_s + self.interval_s.unwrap_or_default());
            let delay = self.decode_delay_s.and_then(span);
            if let (Some((rate, lldu)), Some(duration), Some(delay), true) =
                (rate, duration, delay, has_rate)
                && Time::ZERO.checked_add(duration).is_some()
            {
                push(
                    "tmt synth",
                    format!(
                        "tmt synth --rate {rate} --lldu {lldu} --duration {duration} --decode-delay {delay} --channel {channel}"
                    ),
                );
            }
        }
        if let Some(netem) = &texts.netem {
            push(
                "tc",
                format!("tc qdisc add dev DEV root netem loss {netem}"),
            );
        }
        if let Some(ns3) = &texts.ns3 {
            push("ns-3", ns3.clone());
        }
        lines
    }
}
