//! Results of a closed form at a point.

use tmt_core::model::Outcome;

use crate::plan::models;

/// A model's results, with the arguments as text.
pub(super) struct Theory {
    pub(super) asked: String,
    /// `None` without a model.
    answer: Option<Outcome>,
}

impl Theory {
    /// Evaluates a model from the arguments of `tmt model`; `-` is no model.
    pub(super) fn ask(text: &str) -> Result<Self, String> {
        let asked = text.to_owned();
        let (name, pairs) = text.split_once(' ').unwrap_or((text, ""));
        if name == "-" {
            return Ok(Self {
                asked,
                answer: None,
            });
        }
        let model = models().find(|model| model.name == name);
        let model = model
            .ok_or_else(|| format!("found '{text}', expected arguments of tmt model, or -"))?;
        let answer = model
            .run(pairs)
            .map_err(|error| format!("{text}: {error}"))?;
        Ok(Self {
            asked,
            answer: Some(answer),
        })
    }

    /// A result by name; 1 without a model.
    pub(super) fn result(&self, name: &str) -> Option<f64> {
        self.answer
            .as_ref()
            .map_or(Some(1.0), |answer| answer.get(name))
    }
}
