//! Instructions a slot of each part of `tmt apply`, `tmt synth`, `tmt inject` and `tmt fit`, a packet of TCP runs and a cell of
//! a sweep, under valgrind: counts that repeat exactly where times do not. `.ci/instructions` runs them and holds them
//! against `instructions.txt`.

#![allow(missing_docs, unused_qualifications, reason = "what the macros make")]
#![allow(clippy::unwrap_used, reason = "a bench that cannot go on stops")]

use std::hint::black_box;

use fluid_tcp::endpoint::receiver::Ack;
use fluid_tcp::endpoint::sender::Snapshot;
use fluid_tcp::endpoint::{Profile, Transmission};
use fluid_tcp::experiment::InMemory;
use fluid_tcp::simulation::metrics::RunReport;
use fluid_tcp::simulation::probe::{NoProbe, Probe, Refused, SenderEvent};
use fluid_tcp::simulation::{Flow, Setup, run};
use gungraun::{library_benchmark, library_benchmark_group, main};
use rayon::ThreadPoolBuilder;
use tmt_core::channel::synth::ConstantRate;
use tmt_core::channel::{ChainState, Channel, ChannelSpec};
use tmt_core::format::arrow;
use tmt_core::format::text::{Decoder, Options, encode};
use tmt_core::format::{Rows, TraceReader, TraceWriter};
use tmt_core::pipeline::{Apply, Lane};
use tmt_core::scheme::runner::SchemeRunner;
use tmt_core::types::{BitRate, Bytes, Lldu, Metadata, Slot, Span, Time};
use tmt_fit::{Fit, Sequence, fit, model};
use tmt_link::queue::Buffer;
use tmt_link::timeline::{Builder, Timeline};
use tmt_link::{CoupledLink, Segmentation, Service, SlotUse, SyntheticLink, TimelineLink};
use tmt_study::{Draft, Plan, Records, Sweep};

/// Slots each part works on that is not in [`PACKETS`]; `.ci/instructions` reads it here.
const SLOTS: usize = 100_000;

/// Data packets that each TCP run sends, watched or not; `.ci/instructions` reads them here.
const PACKETS: [(&str, u64); 11] = [
    ("synthetic/one", 18_340),
    ("synthetic/thousand", 42_808),
    ("ahead/one", 16_920),
    ("codel/one", 12_975),
    ("codel/thousand", 42_774),
    ("timeline/one", 15_229),
    ("timeline/thousand", 37_409),
    ("coupled_arq/one", 17_325),
    ("coupled_arq/thousand", 42_688),
    ("coupled_harq/one", 15_003),
    ("coupled_harq/thousand", 37_131),
];

/// Cells of the sweep; `.ci/instructions` reads them here.
const CELLS: usize = 6;

/// Slots walked at a time, as a reader hands them over.
const SLICE: usize = 1 << 13;

/// Bursty weather on the link of the published figures.
const WEATHER: &str = "gilbert-elliott:alpha=0.999,beta=0.9";

/// RTT of that link.
const RTT: Span = Span::from_millis(500);

fn link() -> ConstantRate {
    let (rate, lldu) = (BitRate(2_340_000), Bytes(33));
    ConstantRate::new(rate, lldu, Span::from_secs(60), Span::from_millis(36)).unwrap()
}

fn slots() -> Vec<Slot> {
    erased(&link(), SLOTS)
}

fn erased(link: &ConstantRate, number: usize) -> Vec<Slot> {
    let mut slots = Vec::with_capacity(number);
    link.piece(0, number, &mut slots);
    let piece = Channel::piece(WEATHER.parse().unwrap(), 1, 0, number);
    piece
        .resolve(&mut ChainState::default())
        .mark(0, &mut slots);
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

fn to_format() -> (Vec<Lldu>, Vec<u8>) {
    let mut lldus = Vec::new();
    walk("harq:10/12", RTT, &slots(), &mut lldus);
    let room = Vec::with_capacity(64 * lldus.len());
    (lldus, room)
}

fn to_walk() -> (Vec<Slot>, Vec<Lldu>) {
    (slots(), Vec::with_capacity(SLOTS))
}

fn walk(scheme: &str, rtt: Span, slots: &[Slot], lldus: &mut Vec<Lldu>) {
    let mut runner = SchemeRunner::new(scheme.parse().unwrap(), rtt, Span::ZERO);
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
    walk(scheme, RTT, black_box(&slots), &mut lldus);
    assert!(!lldus.is_empty());
    (slots, lldus)
}

// A row each: there are ten data LLDUs to twelve slots and more.
#[library_benchmark]
#[bench::csv(to_format())]
fn format((lldus, mut out): (Vec<Lldu>, Vec<u8>)) -> (Vec<Lldu>, Vec<u8>) {
    encode::lldus(black_box(&lldus), &mut out);
    assert!(!out.is_empty());
    (lldus, out)
}

// A whole `tmt apply` from memory to memory, on one thread: CSV in, CSV out.
#[library_benchmark]
#[bench::csv(text(), Vec::with_capacity(64 * SLOTS))]
fn apply_whole((text, mut rows): (Vec<u8>, Rows), mut out: Vec<u8>) -> (Vec<u8>, Vec<u8>) {
    let mut decoder = Decoder::new(Options::default());
    decoder.decode(black_box(&text), &mut rows).unwrap();
    let mut lldus = Vec::with_capacity(SLOTS);
    walk("harq:10/12", RTT, &rows.slots, &mut lldus);
    encode::lldus(&lldus, &mut out);
    assert!(!out.is_empty());
    (text, out)
}

fn stream() -> Vec<u8> {
    let mut bytes = Vec::new();
    arrow::encode::head::<Slot>(&Metadata::new(), &mut bytes);
    for slots in slots().chunks(SLICE) {
        arrow::encode::batch(slots, &mut bytes);
    }
    arrow::encode::end::<Slot>(None, &mut bytes);
    bytes
}

// The same from Arrow to Arrow, by the pipeline on this thread alone.
#[library_benchmark]
#[bench::stream(stream(), Vec::with_capacity(32 * SLOTS), alone())]
fn apply_arrow(bytes: Vec<u8>, out: Vec<u8>, (): ()) -> (Vec<u8>, Vec<u8>) {
    let mut reader =
        TraceReader::new(black_box(&bytes[..]), tmt_core::format::Options::default()).unwrap();
    let form = "arrows".parse().unwrap();
    let writer = TraceWriter::new(out, form, &Metadata::new()).unwrap();
    let lane = Lane::new("harq:10/12".parse().unwrap(), RTT, Span::ZERO, Some(writer));
    let mut ends = Apply::new(vec![lane]).run(&mut reader).unwrap();
    assert_eq!(ends[0].summary.slots, SLOTS as u64);
    drop(reader);
    (bytes, ends.remove(0).output.unwrap())
}

/// Makes this thread the only one that tasks run on.
fn alone() {
    let pool = ThreadPoolBuilder::new().num_threads(1).use_current_thread();
    pool.build_global().unwrap();
}

// Two models of `tmt fit`, from a sequence in memory.
#[library_benchmark]
#[bench::gilbert(Sequence::of(slots().iter().map(Slot::is_erased)))]
fn fit_models(sequence: Sequence) -> (Sequence, Vec<Fit>) {
    let models = ["bernoulli", "simple-gilbert"].map(|name| model(name).unwrap());
    let fits = fit(black_box(&sequence), &models, &tmt_fit::Options::default());
    assert_eq!(fits.len(), models.len());
    (sequence, fits)
}

fn study() -> Plan {
    let plan = r#"
        link = "synthetic"
        rate = "2Mbps"
        duration = "20s"
        cc = ["reno", "cubic", "bbr"]
        loss = ["bernoulli:0.01", "gilbert-elliott:alpha=0.99,beta=0.8"]
        seeds = 2
    "#;
    let plan = Draft::parse(plan).unwrap();
    plan.plan(&mut |_| Ok(None)).unwrap()
}

// A sweep on one thread, from plan to records.
#[library_benchmark]
#[bench::cells(study())]
fn sweep(plan: Plan) -> (Plan, Records) {
    assert_eq!(plan.cells(), CELLS);
    let records = Sweep::new(black_box(&plan)).unwrap().collect(&InMemory, 1);
    (plan, records.unwrap())
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

/// Flows of a TCP run and the link that they share.
struct Load {
    name: &'static str,
    flows: u32,
    rate: BitRate,
    rtt: Span,
    seconds: u32,
    buffer: u64,
}

/// A flow on the link of the published figures.
const ONE: Load = Load {
    name: "one",
    flows: 1,
    rate: BitRate(2_340_000),
    rtt: RTT,
    seconds: 100,
    buffer: 100,
};

/// Flows with windows of a few packets, which start within the first second.
const THOUSAND: Load = Load {
    name: "thousand",
    flows: 1000,
    rate: BitRate(100_000_000),
    rtt: Span::from_millis(100),
    seconds: 3,
    buffer: 4000,
};

/// A run that is ready: nothing of its link has to be made while instructions are counted.
struct Ready {
    setup: Setup,
    link: AnyLink,
    packets: u64,
    watched: bool,
}

#[expect(clippy::large_enum_variant, reason = "a run has one")]
enum AnyLink {
    Synthetic(SyntheticLink),
    Timeline(TimelineLink),
    Coupled(CoupledLink),
}

impl Load {
    fn setup(&self) -> Setup {
        let flow = Flow::new("cubic".parse().unwrap(), Profile::Linux.endpoint());
        let start = |number| Span::from_millis(1000 * number / self.flows);
        let flows = (0..self.flows).map(|number| flow.clone().starting(start(number)));
        Setup {
            buffer: Buffer::Packets(self.buffer),
            ..Setup::new(flows.collect(), self.rtt, Span::from_secs(self.seconds))
        }
    }

    /// Slots of 33 B for a run, and some more.
    fn slots(&self) -> Vec<Slot> {
        let duration = Span::from_secs(self.seconds + 2);
        let link = ConstantRate::new(self.rate, Bytes(33), duration, Span::from_millis(1));
        let slots = self.rate.0 * u64::from(self.seconds + 1) / (8 * 33);
        erased(&link.unwrap(), usize::try_from(slots).unwrap())
    }

    fn ready(&self, part: &str, setup: Setup, link: AnyLink) -> Ready {
        let part = format!("{part}/{}", self.name);
        let packets = PACKETS.iter().find(|(name, _)| *name == part);
        Ready {
            setup,
            link,
            packets: packets.unwrap().1,
            watched: false,
        }
    }

    fn synthetic(&self) -> Ready {
        let setup = self.setup();
        let link = self.lossy(&setup);
        self.ready("synthetic", setup, link)
    }

    /// As `synthetic`, with receivers that run ahead of their senders.
    fn ahead(&self) -> Ready {
        let mut setup = self.setup();
        for flow in &mut setup.flows {
            flow.endpoint = Profile::Rfc.endpoint();
        }
        let link = self.lossy(&setup);
        self.ready("ahead", setup, link)
    }

    fn codel(&self) -> Ready {
        let discipline = "codel".parse().unwrap();
        let setup = Setup {
            discipline,
            ..self.setup()
        };
        let link = self.lossy(&setup);
        self.ready("codel", setup, link)
    }

    /// A synthetic link that loses one packet in a thousand.
    fn lossy(&self, setup: &Setup) -> AnyLink {
        let loss = Channel::new(ChannelSpec::Bernoulli { p: 1e-3 }, 1);
        let link = setup.synthetic_link(self.rate, Some(loss.into()));
        AnyLink::Synthetic(link.unwrap())
    }

    fn timeline(&self) -> Ready {
        let (setup, mut lldus) = (self.setup(), Vec::new());
        walk("harq:10/12", self.rtt, &self.slots(), &mut lldus);
        let link = setup.timeline_link(lldus.into_iter().collect::<Timeline>(), LLDUS.into());
        self.ready("timeline", setup, AnyLink::Timeline(link.unwrap()))
    }

    fn coupled(&self, part: &str, scheme: &str) -> Ready {
        let mut trace = Builder::default();
        for slot in self.slots() {
            trace.push(slot.tx_time(), slot.decode_delay(), None);
        }
        let scheme = scheme.parse().unwrap();
        let setup = self.setup();
        let packets = Segmentation::whole(setup.packet, LLDUS.into());
        let link = CoupledLink::new(trace.finish().into(), scheme, packets);
        self.ready(part, setup, AnyLink::Coupled(link))
    }
}

impl Ready {
    /// The same run with a probe.
    fn watched(self) -> Self {
        Self {
            watched: true,
            ..self
        }
    }

    fn run(self) -> (Setup, RunReport) {
        let mut probe = Watching::default();
        let report = if self.watched {
            simulate(black_box(&self.setup), self.link, &mut probe)
        } else {
            simulate(black_box(&self.setup), self.link, &mut NoProbe)
        };
        let sent = report.total.metrics.packets_sent;
        assert_eq!(sent, self.packets, "PACKETS declares what is sent");
        assert!(!self.watched || probe.sent == sent && probe.other > sent);
        (self.setup, report)
    }
}

fn simulate(setup: &Setup, link: AnyLink, probe: &mut impl Probe) -> RunReport {
    match link {
        AnyLink::Synthetic(link) => run(setup, link, probe),
        AnyLink::Timeline(link) => run(setup, link, probe),
        AnyLink::Coupled(link) => run(setup, link, probe),
    }
    .unwrap()
}

/// LLDUs of 33 B, 1 B of it header, that a packet takes.
const LLDUS: u32 = 47;

/// Counts what it is told, all of it.
#[derive(Default)]
struct Watching {
    sent: u64,
    other: u64,
}

impl Probe for Watching {
    fn watches_slots(&self) -> bool {
        true
    }

    fn on_sent(&mut self, _: Time, _: Transmission) {
        self.sent += 1;
    }

    fn on_enqueued(&mut self, _: Time, _: Transmission) {
        self.other += 1;
    }

    fn on_refused(&mut self, _: Time, _: Transmission, _: Refused) {
        self.other += 1;
    }

    fn on_released(&mut self, _: Time, _: Transmission) {
        self.other += 1;
    }

    fn on_dropped(&mut self, _: Time, _: Transmission) {
        self.other += 1;
    }

    fn on_service(&mut self, _: Transmission, _: &Service) {
        self.other += 1;
    }

    fn on_departure(&mut self, _: Time, _: Transmission, _: bool) {
        self.other += 1;
    }

    fn on_slot(&mut self, _: &SlotUse) {
        self.other += 1;
    }

    fn on_delivered(&mut self, _: Time, _: Transmission) {
        self.other += 1;
    }

    fn on_ack_sent(&mut self, _: Time, _: usize, _: &Ack) {
        self.other += 1;
    }

    fn on_ack_received(&mut self, _: Time, _: usize, _: &Ack) {
        self.other += 1;
    }

    fn on_acked(&mut self, _: Time, _: usize, _: u64) {
        self.other += 1;
    }

    fn on_sender(&mut self, _: Time, _: usize, _: SenderEvent, _: &Snapshot, _: u64, _: u64) {
        self.other += 1;
    }
}

#[library_benchmark]
#[bench::one(ONE.synthetic())]
#[bench::one_watched(ONE.synthetic().watched())]
#[bench::thousand(THOUSAND.synthetic())]
#[bench::thousand_watched(THOUSAND.synthetic().watched())]
fn synthetic(ready: Ready) -> (Setup, RunReport) {
    ready.run()
}

#[library_benchmark]
#[bench::one(ONE.ahead())]
fn ahead(ready: Ready) -> (Setup, RunReport) {
    ready.run()
}

#[library_benchmark]
#[bench::one(ONE.codel())]
#[bench::thousand(THOUSAND.codel())]
fn codel(ready: Ready) -> (Setup, RunReport) {
    ready.run()
}

#[library_benchmark]
#[bench::one(ONE.timeline())]
#[bench::one_watched(ONE.timeline().watched())]
#[bench::thousand(THOUSAND.timeline())]
#[bench::thousand_watched(THOUSAND.timeline().watched())]
fn timeline(ready: Ready) -> (Setup, RunReport) {
    ready.run()
}

#[library_benchmark]
#[bench::one(ONE.coupled("coupled_arq", "arq"))]
#[bench::thousand(THOUSAND.coupled("coupled_arq", "arq"))]
fn coupled_arq(ready: Ready) -> (Setup, RunReport) {
    ready.run()
}

#[library_benchmark]
#[bench::one(ONE.coupled("coupled_harq", "harq:10/12"))]
#[bench::one_watched(ONE.coupled("coupled_harq", "harq:10/12").watched())]
#[bench::thousand(THOUSAND.coupled("coupled_harq", "harq:10/12"))]
#[bench::thousand_watched(THOUSAND.coupled("coupled_harq", "harq:10/12").watched())]
fn coupled_harq(ready: Ready) -> (Setup, RunReport) {
    ready.run()
}

library_benchmark_group!(
    name = slots_of_traces,
    benchmarks = [parse, apply, format, draw, synth]
);
library_benchmark_group!(
    name = whole_commands,
    benchmarks = [apply_whole, apply_arrow, fit_models, sweep]
);
library_benchmark_group!(
    name = packets_of_runs,
    benchmarks = [synthetic, ahead, codel, timeline, coupled_arq, coupled_harq]
);
main!(
    library_benchmark_groups = slots_of_traces,
    whole_commands,
    packets_of_runs
);
