//! The coupled link behind one TCP flow: what a slot of the trace costs.

#![allow(missing_docs, reason = "criterion's macros make public items")]
#![allow(clippy::unwrap_used, reason = "a bench that cannot go on stops")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fluid_tcp::endpoint::{Profile, Source};
use fluid_tcp::simulation::probe::NoProbe;
use fluid_tcp::simulation::{Flow, Setup, run};
use tmt_core::channel::{Channel, ChannelSpec};
use tmt_core::types::{Bytes, Span, Time};
use tmt_link::timeline::{Builder, SlotTrace};
use tmt_link::{CoupledLink, Segmentation};

/// Slots of 33 B at 2.34 Mbps.
const SLOT: u64 = 112_820;

const SLOTS: u64 = 2_000_000;

/// Slots that are decoded after 1 ms, one in a hundred erased.
fn trace() -> SlotTrace {
    let mut channel = Channel::new(ChannelSpec::Bernoulli { p: 0.01 }, 1);
    let mut builder = Builder::default();
    for slot in 0..SLOTS {
        let at = Time::from_nanos(slot * SLOT).unwrap();
        let delay = if channel.erases() {
            Span::ZERO
        } else {
            Span::from_millis(1)
        };
        builder.push(at, delay, None);
    }
    builder.finish().into()
}

/// A flow with a window that fills the link, of so many packets.
fn setup(packets: Option<u64>) -> Setup {
    let flow = Flow {
        source: Source::Bulk {
            packets,
            bytes: None,
        },
        ..Flow::new("fixed:60".parse().unwrap(), Profile::Rfc.endpoint())
    };
    let duration = Span::from_nanos(SLOTS * SLOT).unwrap();
    Setup::new(vec![flow], Span::from_millis(100), duration)
}

fn link(trace: &SlotTrace, scheme: &str) -> CoupledLink {
    let packets = Segmentation::whole(Bytes(1500), 47);
    CoupledLink::new(trace.clone(), scheme.parse().unwrap(), packets)
}

fn coupled(criterion: &mut Criterion) {
    let trace = trace();
    let mut group = criterion.benchmark_group("coupled");
    group.sample_size(10);
    for scheme in [
        "none",
        "arq",
        "harq:10/12",
        "harq:10/12,interleave=20",
        "frame-arq:10/11,rounds=3",
    ] {
        let (setup, link) = (setup(None), link(&trace, scheme));
        let simulate = || run(&setup, &link, &mut NoProbe).unwrap();
        let used = simulate().total.lldus_used.unwrap();
        assert!(used > SLOTS / 20, "{scheme}: {used} slots");
        group.throughput(Throughput::Elements(used));
        group.bench_function(BenchmarkId::from_parameter(scheme), |bencher| {
            bencher.iter(|| assert_eq!(simulate().total.lldus_used, Some(used)));
        });
    }
    group.finish();
    idle(criterion, &trace);
}

/// A packet a second: the trace goes by for the most part.
fn idle(criterion: &mut Criterion, trace: &SlotTrace) {
    let link = link(trace, "arq");
    let mut setup = setup(Some(1));
    let flow = setup.flows.pop().unwrap();
    let start = |second| flow.clone().starting(Span::from_secs(second));
    setup.flows = (0..200).map(start).collect();
    let mut group = criterion.benchmark_group("coupled");
    group.throughput(Throughput::Elements(200_000_000_000 / SLOT));
    group.bench_function("idle", |bencher| {
        bencher.iter(|| {
            let report = run(&setup, &link, &mut NoProbe).unwrap();
            assert_eq!(report.total.metrics.packets_delivered, 200);
        });
    });
    group.finish();
}

criterion_group!(benches, coupled);
criterion_main!(benches);
