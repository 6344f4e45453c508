//! Parameter files: TOML with one key a parameter.

use std::fmt::Write as _;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::parameters::{Experiment, Group, PARAMETERS, Parameter};
use super::setting::Kind;

/// The key that names the version which saved a file.
const VERSION: &str = "version";

/// What is wrong with a parameter file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FileError {
    /// Line of the file, counted from 1.
    pub line: usize,
    /// Column of the line, counted from 1.
    pub column: usize,
    /// What was found and what is accepted.
    pub message: String,
}

/// A parameter file that has been read.
#[derive(Debug, Clone, Default)]
pub struct ParameterFile {
    /// What it sets.
    pub experiment: Experiment,
    /// Where it sets what: key and line.
    pub lines: Vec<(&'static str, usize)>,
    /// The version that saved it, where it says so.
    pub version: Option<String>,
}

impl ParameterFile {
    /// Reads a file's text.
    ///
    /// # Errors
    /// What is not TOML, a key that is unknown or given twice, a value that the key does not take.
    pub fn parse(text: &str) -> Result<Self, FileError> {
        let table = DeTable::parse(text).map_err(|error| {
            let at = error.span().unwrap_or_default();
            let found = error.message().trim();
            refuse(
                text,
                &at,
                format!("found {found}, expected lines such as rtt = \"500ms\""),
            )
        })?;
        let mut file = Self::default();
        // In the order of the file, so that the first mistake is the one that is shown.
        let mut entries: Vec<_> = table.into_inner().into_iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        for (key, value) in entries {
            let place = place(text, &key.span());
            let key_text = key.get_ref().as_ref();
            if key_text == VERSION {
                file.version = value.get_ref().as_str().map(str::to_owned);
                continue;
            }
            let parameter = Parameter::of(key_text)
                .ok_or_else(|| refuse(text, &key.span(), unknown(key_text)))?;
            let refuse =
                |why: String| refuse(text, &value.span(), format!("{}: {why}", parameter.key));
            let texts = texts(parameter.kind, &value).ok_or_else(|| {
                let found = text.get(value.span()).unwrap_or_default();
                refuse(format!("found {found}, expected {}", parameter.kind))
            })?;
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            (parameter.access.set)(&mut file.experiment, &texts).map_err(refuse)?;
            file.lines.push((parameter.key, place.0));
        }
        Ok(file)
    }

    /// The line that sets `key`, counted from 1.
    #[must_use]
    pub fn line(&self, key: &str) -> Option<usize> {
        let mut lines = self.lines.iter();
        lines
            .find(|(known, _)| *known == key)
            .map(|(_, line)| *line)
    }
}

/// The values that `parameter` is set to, as a flag would give them; none where the type is another one.
fn texts(kind: Kind, value: &Spanned<DeValue<'_>>) -> Option<Vec<String>> {
    let text = match (value.get_ref(), kind) {
        (DeValue::Array(values), Kind::List(_)) => {
            let texts = values
                .iter()
                .map(|value| value.get_ref().as_str().map(str::to_owned));
            return texts.collect();
        }
        (_, Kind::List(_)) => return None,
        (DeValue::Boolean(on), Kind::Switch | Kind::Flag) => {
            if *on { "on" } else { "off" }.to_owned()
        }
        (DeValue::Integer(number), Kind::Count(..) | Kind::Probability | Kind::Text(..)) => {
            number.as_str().replace('_', "")
        }
        (DeValue::Float(number), Kind::Probability) => number.as_str().replace('_', ""),
        (DeValue::String(text), kind) if !matches!(kind, Kind::Flag) => text.as_ref().to_owned(),
        _ => return None,
    };
    Some(vec![text])
}

/// Line and column of the beginning of `at`.
fn place(text: &str, at: &Range<usize>) -> (usize, usize) {
    let before = text.get(..at.start).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before
        .rsplit('\n')
        .next()
        .unwrap_or_default()
        .chars()
        .count()
        + 1;
    (line, column)
}

fn refuse(text: &str, at: &Range<usize>, message: String) -> FileError {
    let (line, column) = place(text, at);
    FileError {
        line,
        column,
        message,
    }
}

/// Says that `key` is unknown, and names the nearest one.
fn unknown(key: &str) -> String {
    let likeness = |known: &&Parameter| strsim::jaro_winkler(key, known.key);
    let nearest = PARAMETERS
        .iter()
        .max_by(|one, other| likeness(one).total_cmp(&likeness(other)));
    let nearest = nearest.map_or_else(String::new, |parameter| {
        format!(" (did you mean {}?)", parameter.key)
    });
    format!("found the unknown key {key}{nearest}, expected a key of `tmt tcp --help` with _ for -")
}

impl Experiment {
    /// Sets what `other` gives, and tells which keys had another value before.
    pub fn override_with(&mut self, mut other: Self) -> Vec<&'static str> {
        let mut replaced = Vec::new();
        for parameter in PARAMETERS
            .iter()
            .filter(|parameter| parameter.is_given(&other))
        {
            let texts = parameter.access.texts;
            if parameter.is_given(self) && texts(self) != texts(&other) {
                replaced.push(parameter.key);
            }
        }
        for parameter in PARAMETERS {
            if parameter.is_given(&other) {
                (parameter.access.take)(self, &mut other);
            }
        }
        replaced
    }

    /// Sets one parameter from the texts that flags or a file give it.
    ///
    /// # Errors
    /// Found and expected, where a text is not such a value.
    pub fn set(&mut self, parameter: &Parameter, texts: &[&str]) -> Result<(), String> {
        (parameter.access.set)(self, texts)
    }

    /// All that is given, as the text of a parameter file saved by `version`.
    #[must_use]
    pub fn to_file(&self, version: &str) -> String {
        let mut text = format!("{VERSION} = {}\n", quoted(version));
        for group in Group::ALL {
            let mut heading = Some(group.heading());
            for parameter in PARAMETERS
                .iter()
                .filter(|parameter| parameter.group == group)
            {
                if !parameter.is_given(self) {
                    continue;
                }
                let texts = (parameter.access.texts)(self).unwrap_or_default();
                if let Some(heading) = heading.take() {
                    let _ = write!(text, "\n# {heading}\n");
                }
                let _ = writeln!(
                    text,
                    "{} = {}",
                    parameter.key,
                    written(parameter.kind, &texts)
                );
            }
        }
        text
    }
}

/// A value as TOML.
fn written(kind: Kind, texts: &[String]) -> String {
    let all: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
    match (kind, texts) {
        (Kind::Switch | Kind::Flag, [text]) => (text == "on").to_string(),
        (Kind::Count(..) | Kind::Probability, [text]) => text.clone(),
        (Kind::List(_), _) => format!("[{}]", all.join(", ")),
        _ => all.concat(),
    }
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = "\"".to_owned();
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            _ if character.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(character));
            }
            _ => quoted.push(character),
        }
    }
    quoted + "\""
}
