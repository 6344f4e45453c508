//! Every model with its keys at the ends of their domains, in random combinations.

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use test_support::depth;
use tmt_core::model::{Domain, Key, Model, ModelError, Value};

use super::*;

/// Values at and near the ends of a key's domain, and one inside. Their products are in the range of doubles.
fn ends(key: &Key) -> Vec<Value> {
    let tiny = 1e-30;
    let numbers: Vec<f64> = match key.domain {
        // The requested half-width: a small one only takes longer.
        _ if key.name == "ci" => vec![0.3, 42.0, 1e30],
        Domain::Probability => vec![
            0.0,
            1e-300,
            1e-9,
            0.3,
            1.0 - 1e-9,
            1.0 - f64::EPSILON / 2.0,
            1.0,
        ],
        Domain::Positive => vec![tiny, 1e-9, 0.7, 42.0, 1e9, 1e30],
        Domain::NonNegative | Domain::Real => vec![0.0, tiny, 1e-9, 0.7, 42.0, 1e30],
        Domain::Count(least, most) => {
            return [least, least + 1, 40, most - 1, most]
                .map(|count| Value::Count(count.clamp(least, most)))
                .to_vec();
        }
        Domain::Word(words) => return words.iter().map(|word| Value::Word(word)).collect(),
    };
    numbers.into_iter().map(Value::Number).collect()
}

fn answer(model: &Model, picks: &[usize]) -> Result<(), TestCaseError> {
    let mut arguments = model.arguments([]).unwrap();
    for (key, pick) in model.keys.iter().zip(picks) {
        // About half of the keys keep their defaults.
        if pick % 2 == 0 {
            let ends = ends(key);
            arguments.give(key, ends[pick / 2 % ends.len()]).unwrap();
        }
    }
    match model.evaluate(&arguments) {
        Ok(outcome) => prop_assert!(!outcome.fields().is_empty()),
        Err(ModelError::Refused(why)) => {
            prop_assert!(
                !why.contains("has no value here"),
                "{} {arguments:?}: {why}",
                model.name
            );
        }
        Err(other) => prop_assert!(false, "{}: {other}", model.name),
    }
    Ok(())
}

/// The models that draw random numbers, or those that do not.
fn models(drawn: bool) -> Vec<&'static Model> {
    let draws = |model: &&Model| model.keys.iter().any(|key| key.name == "seed");
    let models = MODELS.iter().copied();
    models.filter(|model| draws(model) == drawn).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn corners_have_an_answer_or_a_reason(
        model in prop::sample::select(models(false)), picks in prop::collection::vec(0usize..1000, 22),
    ) {
        answer(model, &picks)?;
    }
}

/// A case takes seconds, up to 1e8 cycles, so `PROPTEST_CASES` does not set their number.
#[test]
fn corners_of_drawn_models_have_an_answer_or_a_reason() {
    let cases = ProptestConfig {
        cases: depth(2, 50),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let drawn = (
        prop::sample::select(models(true)),
        prop::collection::vec(0usize..1000, 15),
    );
    let checked = TestRunner::new(cases).run(&drawn, |(model, picks)| answer(model, &picks));
    checked.unwrap_or_else(|failure| panic!("{failure}"));
}
