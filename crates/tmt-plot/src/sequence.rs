//! A few LLDUs through a scheme, as a sequence diagram: each unit from the sender to the receiver.

use tmt_core::format::records::Cell;
use tmt_core::scheme::SchemeSpec;
use tmt_core::scheme::engine::{Engine, Saturated, Sent, UnitKind, UnitSink};
use tmt_core::types::{Fate, Lldu, Slot, Span, Time, to_f64};
use tmt_study::conditions::shown;

use crate::PlotError;
use crate::picture::{Axis, Mark, Panel, Picture, Point, Series, Unit, counted};

/// Most slots that can be told apart.
pub const MOST_SLOTS: usize = 400;

/// Content of each slot.
#[derive(Debug, Default)]
struct Carried {
    units: Vec<UnitKind>,
    lldus: Vec<Lldu>,
}

impl UnitSink<Saturated> for Carried {
    fn lldus(&mut self) -> Option<&mut Vec<Lldu>> {
        Some(&mut self.lldus)
    }

    fn sent(&mut self, _: &mut Saturated, sent: &Sent) {
        self.units.extend(sent.each().map(|(_, kind)| kind));
    }
}

/// The diagram of `slots` through `scheme`.
///
/// # Errors
/// No slots, or more than can be told apart; times beyond 2^63 − 1 ns.
pub fn draw(
    scheme: &SchemeSpec,
    slots: &[Slot],
    rtt: Span,
    feedback_delay: Span,
) -> Result<Picture, PlotError> {
    if slots.is_empty() || slots.len() > MOST_SLOTS {
        return Err(PlotError::Asked(format!(
            "found {} slots, expected from 1 to {MOST_SLOTS}",
            slots.len()
        )));
    }
    let mut engine = Engine::new(scheme.clone(), rtt, feedback_delay);
    let mut carried = Carried::default();
    for slot in slots {
        // One by one, so that the units come in the order of the slots.
        let walked = engine.advance(std::slice::from_ref(slot), &mut Saturated, &mut carried);
        walked.map_err(|(_, kind)| PlotError::Data(kind.to_string()))?;
    }
    let end = slots.last().map_or(Time::ZERO, Slot::tx_time);
    engine.finish(end, &mut carried.lldus);
    let propagation = rtt.as_secs_f64() / 2.0;
    let received = slots.iter().filter(|slot| slot.arrival().is_some());
    let longest = received
        .map(|slot| slot.decode_delay().as_secs_f64())
        .fold(0.0, f64::max);
    // An erased unit ends halfway.
    let ends = |slot: &Slot| {
        let sent = seconds(slot.tx_time());
        let end = match slot.arrival() {
            Some(arrival) => Point::new(seconds(arrival) + propagation, RECEIVER),
            None => Point::new(
                sent + f64::midpoint(propagation, longest),
                f64::midpoint(SENDER, RECEIVER),
            ),
        };
        [Point::new(sent, SENDER), end]
    };
    let kinds = [
        (UnitKind::Data, "data unit"),
        (UnitKind::Repair, "repair unit"),
        (UnitKind::Repeat, "repeated unit"),
    ];
    let units = kinds.map(|(kind, label)| {
        let of_kind = slots.iter().zip(&carried.units);
        let of_kind = of_kind.filter(|(_, of)| **of == kind);
        let lines = of_kind.flat_map(|(slot, _)| ends(slot).into_iter().chain([Point::GAP]));
        (label, Mark::Line, lines.collect::<Vec<Point>>())
    });
    let erased = slots.iter().filter(|slot| slot.arrival().is_none());
    let erased: Vec<Point> = erased.map(|slot| ends(slot)[1]).collect();
    let delivered = carried
        .lldus
        .iter()
        .filter(|lldu| lldu.fate == Fate::Delivered);
    let delivered = delivered.map(|lldu| {
        let at = seconds(lldu.tx_time) + lldu.decode_delay.as_secs_f64();
        Point::new(at + propagation, DELIVERED)
    });
    let delivered: Vec<Point> = delivered.collect();
    let note = format!(
        "Scheme {scheme}: {}, {} erased; {}, {} delivered. RTT {}, feedback delay {}.",
        counted(slots.len(), "slot"),
        erased.len(),
        counted(carried.lldus.len(), "LLDU"),
        delivered.len(),
        spaced("rtt_ns", rtt),
        spaced("feedback_delay_ns", feedback_delay),
    );
    let dots = [("erased", erased), ("LLDU delivered", delivered)];
    let dots = dots.map(|(label, points)| (label, Mark::Dots, points));
    let all = units.into_iter().chain(dots);
    let series = all.filter(|(.., points)| !points.is_empty());
    let series = series.map(|(label, mark, points)| Series {
        label: label.to_owned(),
        mark,
        points,
    });
    let ends = ["delivered", "receiver", "sender"].map(str::to_owned);
    Ok(Picture {
        title: String::new(),
        panels: vec![Panel {
            x: Axis::new("time", Unit::Seconds),
            y: Axis::of_names("", ends.into()),
            series: series.collect(),
        }],
        notes: vec![note],
    })
}

/// A time in seconds.
fn seconds(time: Time) -> f64 {
    to_f64(time.as_nanos()) / 1e9
}

/// A duration for people.
fn spaced(column: &str, span: Span) -> String {
    let nanos = i64::try_from(span.as_nanos()).unwrap_or(i64::MAX);
    shown(column, Cell::Whole(nanos))
}

/// Places of both ends, and of deliveries, on the vertical axis.
const SENDER: f64 = 3.0;
const RECEIVER: f64 = 2.0;
const DELIVERED: f64 = 1.0;
