//! What a closed form gives for a point.

use tmt_core::model::Outcome as Answer;

use crate::cmd::model::models;
use crate::exit::{Failure, Outcome};

/// A model's answer, with the text of its question.
pub(super) struct Theory {
    pub(super) asked: String,
    /// None where no model was asked.
    answer: Option<Answer>,
}

impl Theory {
    /// Asks as `tmt model` is asked; `-` asks none.
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

    /// One of its results; 1 where no model was asked.
    pub(super) fn result(&self, name: &str) -> Outcome<f64> {
        let found = self
            .answer
            .as_ref()
            .map_or(Some(1.0), |answer| answer.get(name));
        found.ok_or_else(|| Failure::failed(format!("{}: no {name}", self.asked)))
    }
}
