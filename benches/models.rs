//! Closed forms: one point each, as `tmt model` asks for it.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use tmt_core::model::chain::{Chain, erasures};
use tmt_core::model::{Model, ModelError, Outcome};

/// Every model's example.
fn examples(c: &mut Criterion) {
    let mut group = c.benchmark_group("model");
    let models = tmt_core::model::MODELS
        .iter()
        .chain(fluid_tcp::model::MODELS);
    for model in models.copied() {
        group.bench_function(model.name, |b| {
            b.iter(|| black_box(model.run(model.example)));
        });
    }
    group.finish();
}

/// P(10, 1000) alone.
fn few_erasures_of_many(c: &mut Criterion) {
    let chain = Chain::new(0.99, 0.8, 0.0, 1.0).expect("alpha and beta are below 1");
    c.bench_function("P(10, 1000)", |b| {
        b.iter(|| erasures(black_box(chain), 1000, 10)[10]);
    });
}

/// Points that take longest.
fn large(c: &mut Criterion) {
    let mut group = c.benchmark_group("large");
    let cases: [(&str, &[(&str, &str)]); 4] = [
        ("fec", &[("nd", "223"), ("nr", "32")]),
        ("fec", &[("nd", "8000"), ("nr", "2000")]),
        ("harq", &[("nd", "223"), ("nr", "32")]),
        ("ge-dist", &[("n", "1000")]),
    ];
    for (name, pairs) in cases {
        let text: Vec<String> = pairs
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        group.bench_function(format!("{name} {}", text.join(" ")), |b| {
            b.iter(|| answer(name, pairs));
        });
    }
    group.finish();
}

fn answer(name: &str, pairs: &[(&str, &str)]) -> Result<Outcome, ModelError> {
    let model: &Model = tmt_core::model::MODELS
        .iter()
        .find(|model| model.name == name)
        .expect("the model is there");
    model.evaluate(&model.arguments(pairs.iter().copied())?)
}

criterion_group!(benches, few_erasures_of_many, examples, large);
criterion_main!(benches);
