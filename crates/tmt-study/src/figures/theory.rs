//! Results of a closed form at a point.

use tmt_core::model::Outcome;

use crate::plan::models;

/// A model's results, or a number, with its text.
pub(super) struct Theory {
    pub(super) asked: String,
    answer: Answer,
}

enum Answer {
    Model(Outcome),
    Number(f64),
}

impl Theory {
    /// Evaluates a model from the arguments of `tmt model`. A number stands for itself, `-` for 1.
    pub(super) fn ask(text: &str) -> Result<Self, String> {
        let asked = text.to_owned();
        let number = || text.parse().ok().filter(|number: &f64| number.is_finite());
        if let Some(number) = (text == "-").then_some(1.0).or_else(number) {
            return Ok(Self {
                asked,
                answer: Answer::Number(number),
            });
        }
        let (name, pairs) = text.split_once(' ').unwrap_or((text, ""));
        let model = models().find(|model| model.name == name);
        let model = model.ok_or_else(|| {
            format!("found '{text}', expected arguments of tmt model, a number, or -")
        })?;
        let outcome = model.run(pairs);
        let outcome = outcome.map_err(|error| format!("{text}: {error}"))?;
        Ok(Self {
            asked,
            answer: Answer::Model(outcome),
        })
    }

    /// A result by name; a number has the same under every name.
    pub(super) fn result(&self, name: &str) -> Option<f64> {
        match &self.answer {
            Answer::Model(outcome) => outcome.get(name),
            Answer::Number(number) => Some(*number),
        }
    }
}
