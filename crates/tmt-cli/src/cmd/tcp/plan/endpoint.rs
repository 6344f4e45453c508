//! Both ends: the profile, and what flags change of it.

use std::collections::BTreeSet;

use fluid_tcp::endpoint::{CutFrom, Endpoint, LossDetection, Recovery, RttSampling};
use fluid_tcp::link::gateway::Discipline;
use tmt_core::types::Span;

use super::super::args::{Args, DetectionFlag, Switch};
use crate::exit::{Failure, Outcome};

/// Shortest cap of the timeout: below it a run is nothing but timeouts.
const LEAST_MAX_RTO: Span = Span::from_millis(1);

/// The profile with what flags change of it.
pub(super) fn endpoint(args: &Args) -> Outcome<Endpoint> {
    let mut endpoint = args.profile.endpoint();
    let set = |field: &mut Span, flag: Option<Span>| *field = flag.unwrap_or(*field);
    set(&mut endpoint.delayed_ack_timer, args.delayed_ack_timer);
    set(&mut endpoint.rto.first, args.first_rto);
    set(&mut endpoint.rto.min, args.min_rto);
    set(&mut endpoint.rto.max, args.max_rto);
    set(&mut endpoint.rto.tick, args.rto_tick);
    set(&mut endpoint.rto.margin, args.rto_margin);
    if endpoint.rto.max < endpoint.rto.min || endpoint.rto.max.is_zero() {
        return Err(Failure::usage(format!(
            "--max-rto {} is below --min-rto {}, or zero",
            endpoint.rto.max, endpoint.rto.min
        )));
    }
    let (least, most) = (endpoint.rto.min, endpoint.rto.max);
    if args
        .first_rto
        .is_some_and(|first| first < least || first > most)
    {
        return Err(Failure::usage(format!(
            "--first-rto is not within {least} and {most}, --min-rto and --max-rto"
        )));
    }
    endpoint.rto.first = endpoint.rto.first.clamp(least, most);
    if most < LEAST_MAX_RTO {
        return Err(Failure::usage(format!(
            "--max-rto {most}: expected at least {LEAST_MAX_RTO}"
        )));
    }
    // A timeout of nothing would fire without time passing.
    if endpoint.rto.min.is_zero() && endpoint.rto.tick.is_zero() {
        return Err(Failure::usage(
            "--min-rto 0s needs --rto-tick above 0ns: a timeout must take some time",
        ));
    }
    if endpoint.rto.first.is_zero() {
        return Err(Failure::usage("--first-rto: expected more than 0s"));
    }
    endpoint.initial_window = args.iw.unwrap_or(endpoint.initial_window);
    endpoint.sack = args.sack.map_or(endpoint.sack, |switch| switch.0);
    endpoint.delayed_ack = args
        .delayed_ack
        .map_or(endpoint.delayed_ack, |packets| packets.0);
    if args.path == "split" {
        // The proxy acknowledges at once.
        endpoint.delayed_ack = 1;
    }
    endpoint.limited_transmit = args
        .limited_transmit
        .map_or(endpoint.limited_transmit, |switch| switch.0);
    endpoint.rtt_sampling = args
        .rtt_sampling
        .map_or(endpoint.rtt_sampling, |sampling| sampling.0);
    endpoint.cut_from = args.cut_from.map_or(endpoint.cut_from, |cut| cut.0);
    endpoint.rwnd = args.rwnd.map_or(endpoint.rwnd, |packets| packets.0);
    endpoint.window_validation = args
        .window_validation
        .map_or(endpoint.window_validation, |switch| switch.0);
    endpoint.handshake = args.handshake.map_or(endpoint.handshake, |switch| switch.0);
    endpoint.quick_acks = args.quick_acks.unwrap_or(endpoint.quick_acks);
    endpoint.pacing = args.pacing.map_or(endpoint.pacing, |switch| switch.0);
    finding(args, &mut endpoint)?;
    if let Some(recovery) = args.recovery {
        if recovery.0 == Recovery::Prr && !endpoint.sack {
            return Err(Failure::usage(
                "--recovery prr needs --sack on: it counts what was selectively acknowledged",
            ));
        }
        endpoint.recovery = recovery.0;
    } else if !endpoint.sack {
        endpoint.recovery = Recovery::Halving;
    }
    Ok(endpoint)
}

/// How losses are found, and what needs SACK or marks for it.
fn finding(args: &Args, endpoint: &mut Endpoint) -> Outcome {
    // What a profile has and SACK would be needed for, goes with it; what a flag asks for, does not.
    if !endpoint.sack {
        endpoint.loss_detection = LossDetection::DupAcks;
        endpoint.f_rto = false;
    }
    if let Some(DetectionFlag(detection)) = args.loss_detection {
        if detection == LossDetection::Rack && !endpoint.sack {
            return Err(Failure::usage(
                "--loss-detection rack needs --sack on: it looks at single packets",
            ));
        }
        endpoint.loss_detection = detection;
    }
    let by_time = endpoint.loss_detection == LossDetection::Rack;
    endpoint.tail_loss_probe &= by_time;
    if let Some(Switch(on)) = args.tail_loss_probe {
        if on && !by_time {
            return Err(Failure::usage(
                "--tail-loss-probe on needs --loss-detection rack, which finds what the probe shows",
            ));
        }
        endpoint.tail_loss_probe = on;
    }
    if let Some(Switch(on)) = args.f_rto {
        if on && !endpoint.sack {
            return Err(Failure::usage(
                "--f-rto on needs --sack on: it looks at single packets",
            ));
        }
        endpoint.f_rto = on;
    }
    endpoint.ecn = args.ecn.is_some_and(|switch| switch.0);
    let mut controls = args.flow.iter().filter_map(|flow| flow.cc.as_ref());
    let inherits = args.flow.is_empty() || args.flow.iter().any(|flow| flow.cc.is_none());
    let controls: Vec<_> = controls
        .by_ref()
        .chain(inherits.then_some(&args.cc))
        .collect();
    for control in controls {
        let started = control.start(1.0);
        if started.samples_rate() && !endpoint.sack {
            return Err(Failure::usage(format!(
                "--cc {control} needs --sack on: it measures single packets"
            )));
        }
        if endpoint.ecn && !started.answers_marks() {
            return Err(Failure::usage(format!(
                "--ecn on has no meaning with --cc {control}, which answers no marks"
            )));
        }
    }
    if endpoint.ecn && args.queue == Discipline::DROP_TAIL {
        return Err(Failure::usage(
            "--ecn on needs --queue codel: a drop-tail queue marks nothing",
        ));
    }
    Ok(())
}

pub(super) fn profile_note(args: &Args, endpoint: &Endpoint) -> String {
    let switch = |on: bool| if on { "on" } else { "off" };
    let controls: BTreeSet<String> = args
        .flow
        .iter()
        .map(|flow| flow.cc.as_ref().unwrap_or(&args.cc).to_string())
        .collect();
    let control = if args.flow.is_empty() {
        args.cc.to_string()
    } else {
        controls.into_iter().collect::<Vec<_>>().join(" and ")
    };
    let delayed_ack = if endpoint.delayed_ack == 1 {
        "off".to_owned()
    } else {
        format!("{} ({})", endpoint.delayed_ack, endpoint.delayed_ack_timer)
    };
    format!(
        "cc {control}, profile {}: sack {}, delayed ack {delayed_ack}, quick acks {}, iw {}, rto {} at first, {} to {}, \
         tick {}, margin {}, loss detection {}, tail loss probe {}, f-rto {}, ecn {}, pacing {}, \
         limited transmit {}, recovery {}, rtt sampling {}, cut from {}, rwnd {}, window validation {}, handshake {}",
        args.profile.name(),
        switch(endpoint.sack),
        endpoint.quick_acks,
        endpoint.initial_window,
        endpoint.rto.first,
        endpoint.rto.min,
        endpoint.rto.max,
        endpoint.rto.tick,
        endpoint.rto.margin,
        detection_name(endpoint.loss_detection),
        switch(endpoint.tail_loss_probe),
        switch(endpoint.f_rto),
        switch(endpoint.ecn),
        switch(endpoint.pacing),
        switch(endpoint.limited_transmit),
        recovery_name(endpoint.recovery),
        sampling_name(endpoint.rtt_sampling),
        cut_name(endpoint.cut_from),
        endpoint
            .receiver_window()
            .map_or("unlimited".to_owned(), |packets| format!("{packets}pkt")),
        switch(endpoint.window_validation),
        switch(endpoint.handshake),
    )
}

pub(super) fn recovery_name(recovery: Recovery) -> &'static str {
    match recovery {
        Recovery::Halving => "halving",
        Recovery::Prr => "prr",
    }
}

pub(super) fn sampling_name(sampling: RttSampling) -> &'static str {
    match sampling {
        RttSampling::PerWindow => "window",
        RttSampling::PerAck => "ack",
    }
}

pub(super) fn cut_name(cut: CutFrom) -> &'static str {
    match cut {
        CutFrom::Flight => "flight",
        CutFrom::Window => "window",
    }
}

pub(super) fn detection_name(detection: LossDetection) -> &'static str {
    match detection {
        LossDetection::DupAcks => "dupack",
        LossDetection::Rack => "rack",
    }
}
