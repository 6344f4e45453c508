//! Results of a closed form at a point.

use tmt_core::model::Outcome as Answer;

use crate::cmd::model::models;
use crate::exit::{Failure, Outcome};

/// A model's result, with the arguments as text.
pub(super) struct Theory {
    pub(super) asked: String,
    /// `None` without a model.
    answer: Option<Answer>,
}

impl Theory {
    /// Evaluates a model from the arguments of `tmt model`; `-` is no model.
    pub(super) fn ask(text: &str) -> Outcome<Self> {
        let asked = text.to_owned();
        let (name, pairs) = text.split_once(' ').unwrap_or((text, ""));
        let Some(model) = models().find(|model| model.name == name) else {
            return Ok(Self {
                asked,
                answer: None,
            });
        };
        let answer = model
            .run(pairs)
            .map_err(|error| Failure::failed(format!("{text}: {error}")))?;
        Ok(Self {
            asked,
            answer: Some(answer),
        })
    }

    /// A result by name; 1 without a model.
    pub(super) fn result(&self, name: &str) -> Outcome<f64> {
        let found = self
            .answer
            .as_ref()
            .map_or(Some(1.0), |answer| answer.get(name));
        found.ok_or_else(|| Failure::failed(format!("{}: found no result {name}", self.asked)))
    }
}
