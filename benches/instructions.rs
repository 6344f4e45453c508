//! Instructions a slot of each part of `tmt apply`, `tmt synth` and `tmt inject`, under valgrind: counts that
//! repeat exactly where times do not. `.ci/instructions` runs them and holds them against `instructions.txt`.

#![allow(missing_docs, unused_qualifications, reason = "what the macros make")]
#![allow(clippy::unwrap_used, reason = "a bench that cannot go on stops")]

use std::hint::black_box;

use gungraun::{library_benchmark, library_benchmark_group, main};
use tmt_core::channel::synth::ConstantRate;
use tmt_core::channel::{ChainState, Channel, ChannelSpec};
use tmt_core::format::Rows;
use tmt_core::format::text::{Decoder, Options, encode};
use tmt_core::scheme::runner::SchemeRunner;
use tmt_core::types::{BitRate, Bytes, Lldu, Slot, Span};

/// Slots each part works on; `.ci/instructions` reads it here.
const SLOTS: usize = 100_000;

/// Slots walked at a time, as a reader hands them over.
const SLICE: usize = 1 << 13;

/// Bursty weather on the link of the published figures.
const WEATHER: &str = "gilbert-elliott:alpha=0.999,beta=0.9";

fn link() -> ConstantRate {
    let (rate, lldu) = (BitRate(2_340_000), Bytes(33));
    ConstantRate::new(rate, lldu, Span::from_secs(60), Span::from_millis(36)).unwrap()
}

fn slots() -> Vec<Slot> {
    let mut slots = Vec::with_capacity(SLOTS);
    link().piece(0, SLOTS, &mut slots);
    let piece = Channel::piece(WEATHER.parse().unwrap(), 1, 0, SLOTS);
    piece.resolve(&mut ChainState::default()).apply(&mut slots);
    slots
}

fn rows() -> Rows {
    let mut rows = Rows::default();
    rows.slots = slots();
    rows
}

fn text() -> (Vec<u8>, Rows) {
    let mut text = Vec::new();
    encode::trace_header(&mut text);
    for slot in slots() {
        encode::slot(&slot, &mut text);
    }
    // Rows that were there before have made room for those to come.
    let mut room = rows();
    room.clear();
    (text, room)
}

fn timeline() -> (Vec<Lldu>, Vec<u8>) {
    let mut lldus = Vec::new();
    walk("harq:10/12", &slots(), &mut lldus);
    let room = Vec::with_capacity(64 * lldus.len());
    (lldus, room)
}

fn to_walk() -> (Vec<Slot>, Vec<Lldu>) {
    (slots(), Vec::with_capacity(SLOTS))
}

fn walk(scheme: &str, slots: &[Slot], lldus: &mut Vec<Lldu>) {
    let mut runner = SchemeRunner::new(scheme.parse().unwrap(), Span::from_millis(500), Span::ZERO);
    for slice in slots.chunks(SLICE) {
        runner.push_slots(slice, lldus).unwrap();
    }
}

#[library_benchmark]
#[bench::csv(text())]
fn parse((text, mut rows): (Vec<u8>, Rows)) -> (Vec<u8>, Rows) {
    let mut decoder = Decoder::new(Options::default());
    decoder.decode(black_box(&text), &mut rows).unwrap();
    assert_eq!(rows.slots.len(), SLOTS);
    (text, rows)
}

#[library_benchmark]
#[bench::arq("arq", to_walk())]
#[bench::harq("harq:10/12", to_walk())]
#[bench::frame_arq("frame-arq:10/12", to_walk())]
fn apply(scheme: &str, (slots, mut lldus): (Vec<Slot>, Vec<Lldu>)) -> (Vec<Slot>, Vec<Lldu>) {
    walk(scheme, black_box(&slots), &mut lldus);
    assert!(!lldus.is_empty());
    (slots, lldus)
}

// A row each: there are ten data LLDUs to twelve slots and more.
#[library_benchmark]
#[bench::csv(timeline())]
fn format((lldus, mut out): (Vec<Lldu>, Vec<u8>)) -> (Vec<Lldu>, Vec<u8>) {
    encode::lldus(black_box(&lldus), &mut out);
    assert!(!out.is_empty());
    (lldus, out)
}

#[library_benchmark]
#[bench::bernoulli("bernoulli:0.01")]
#[bench::gilbert_elliott(WEATHER)]
#[bench::two_draws("gilbert-elliott:alpha=0.99,beta=0.8,pg=0.001,pb=0.5")]
fn draw(process: &str) {
    let spec: ChannelSpec = process.parse().unwrap();
    let piece = Channel::piece(spec, 1, black_box(1 << 20), SLOTS);
    assert_eq!(black_box(piece).len(), SLOTS);
}

#[library_benchmark]
#[bench::constant_rate(Vec::with_capacity(SLOTS))]
fn synth(mut slots: Vec<Slot>) -> Vec<Slot> {
    link().piece(black_box(1 << 16), SLOTS, &mut slots);
    assert_eq!(slots.len(), SLOTS);
    slots
}

library_benchmark_group!(
    name = parts,
    benchmarks = [parse, apply, format, draw, synth]
);
main!(library_benchmark_groups = parts);
