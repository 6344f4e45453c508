//! Event-driven TCP: what a data packet costs.

#![allow(missing_docs, reason = "criterion's macros make public items")]
#![allow(clippy::unwrap_used, reason = "a bench that cannot go on stops")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fluid_tcp::endpoint::Profile;
use fluid_tcp::simulation::metrics::RunReport;
use fluid_tcp::simulation::probe::NoProbe;
use fluid_tcp::simulation::{Flow, Setup, run};
use tmt_core::channel::{Channel, ChannelSpec};
use tmt_core::types::{BitRate, Span};

/// 400 s of 2.34 Mbps, 500 ms, one loss in a thousand packets (set B of the peers).
fn simulate(cc: &str) -> RunReport {
    let flow = Flow::new(cc.parse().unwrap(), Profile::Rfc.endpoint());
    let setup = Setup::new(vec![flow], Span::from_millis(500), Span::from_secs(400));
    let channel = Channel::new(ChannelSpec::Bernoulli { p: 1e-3 }, 1);
    let link = setup.synthetic_link(BitRate(2_340_000), Some(channel.into()));
    run(&setup, link.unwrap(), &mut NoProbe).unwrap()
}

fn tcp(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("synthetic");
    for cc in ["newreno", "cubic"] {
        let sent = simulate(cc).total.metrics.packets_sent;
        group.throughput(Throughput::Elements(sent));
        group.bench_function(BenchmarkId::from_parameter(cc), |bencher| {
            bencher.iter(|| assert_eq!(simulate(cc).total.metrics.packets_sent, sent));
        });
    }
    group.finish();
}

criterion_group!(benches, tcp);
criterion_main!(benches);
