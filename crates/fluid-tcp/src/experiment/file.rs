//! Parameter files: TOML with one key per parameter.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::parameters::{Experiment, Group, PARAMETERS, Parameter};
use super::setting::Kind;
use tmt_core::named::{ParseError, suggestion};

/// The key that names the version which saved a file.
const VERSION: &str = "version";

/// Error in a parameter file, with its position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FileError {
    /// Line of the file, counted from 1.
    pub line: usize,
    /// Column of the line, counted from 1.
    pub column: usize,
    /// The text found and the text expected.
    pub message: String,
}

/// A parameter file that has been read.
///
/// ```
/// use fluid_tcp::experiment::ParameterFile;
///
/// let file = ParameterFile::parse("link = \"synthetic\"\nrate = \"1Mbps\"\ncc = \"bbr\"\n")?;
/// assert_eq!(file.experiment.cc(), "bbr".parse()?);
/// let error = ParameterFile::parse("rtt = \"36ms\"\nfedback_delay = \"1ms\"\n").unwrap_err();
/// assert_eq!((error.line, error.column), (2, 1));
/// assert!(error.to_string().contains("feedback_delay"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct ParameterFile {
    /// The parameters that the file sets.
    pub experiment: Experiment,
    /// Line of each key, counted from 1.
    pub lines: BTreeMap<&'static str, usize>,
    /// The version that saved the file, if recorded.
    pub version: Option<String>,
}

impl ParameterFile {
    /// Reads a file's text.
    ///
    /// # Errors
    /// Text that is not TOML, an unknown or duplicate key, or a value out of the key's domain.
    pub fn parse(text: &str) -> Result<Self, FileError> {
        Self::parse_with(text, &mut |_| Ok(None))
    }

    /// Reads a file's text in which a value may name further files: `unnamed` returns the text of such a value without
    /// them, why it cannot, or `None` for any other value.
    ///
    /// # Errors
    /// Those of [`ParameterFile::parse`], and those of `unnamed`.
    pub fn parse_with(
        text: &str,
        unnamed: &mut dyn FnMut(&str) -> Result<Option<String>, String>,
    ) -> Result<Self, FileError> {
        let table = DeTable::parse(text).map_err(|error| {
            let at = error.span().unwrap_or_default();
            let message = match error.message().trim() {
                "duplicate key" => {
                    let key = text.get(at.clone()).unwrap_or_default();
                    format!("{key}: found more than once, expected once")
                }
                message => format!("{message}; expected lines such as rtt = \"500ms\""),
            };
            refuse(text, &at, message)
        })?;
        let mut file = Self::default();
        // In file order, so that the first error is reported.
        let mut entries: Vec<_> = table.into_inner().into_iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        for (key, value) in entries {
            let key_text = key.get_ref().as_ref();
            if key_text == VERSION {
                let found = text.get(value.span()).unwrap_or_default();
                let version = value.get_ref().as_str().ok_or_else(|| {
                    let message = format!("{VERSION}: found {found}, expected a string");
                    refuse(text, &value.span(), message)
                })?;
                file.version = Some(version.to_owned());
                continue;
            }
            let parameter = Parameter::of(key_text).ok_or_else(|| {
                let message = unknown(key_text, file.version.as_deref());
                refuse(text, &key.span(), message)
            })?;
            let refuse =
                |why: String| refuse(text, &value.span(), format!("{}: {why}", parameter.key));
            let mut texts = texts(parameter.kind, &value).ok_or_else(|| {
                let found = text.get(value.span()).unwrap_or_default();
                refuse(format!("found {found}, expected {}", parameter.kind))
            })?;
            if parameter.takes_files() {
                for text in &mut texts {
                    if let Some(unnamed) = unnamed(text).map_err(&refuse)? {
                        *text = unnamed;
                    }
                }
            }
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            (parameter.access.set)(&mut file.experiment, &texts).map_err(refuse)?;
            let (line, _) = place(text, &key.span());
            file.lines.insert(parameter.key, line);
        }
        Ok(file)
    }

    /// The line that sets `key`, counted from 1.
    #[must_use]
    pub fn line(&self, key: &str) -> Option<usize> {
        self.lines.get(key).copied()
    }
}

/// The value as the texts of a flag; `None` if it has the wrong type.
fn texts(kind: Kind, value: &Spanned<DeValue<'_>>) -> Option<Vec<String>> {
    let text = match (value.get_ref(), kind) {
        (DeValue::Array(values), Kind::List(_)) => {
            let texts = values.iter().map(|value| match value.get_ref() {
                DeValue::Table(table) => of_table(table),
                value => value.as_str().map(str::to_owned),
            });
            return texts.collect();
        }
        (_, Kind::List(_)) => return None,
        (DeValue::Boolean(on), Kind::Switch | Kind::Flag) => {
            if *on { "on" } else { "off" }.to_owned()
        }
        (DeValue::Integer(number), Kind::Count(..) | Kind::Probability | Kind::Text(..))
            if number.radix() == 10 =>
        {
            number.as_str().replace('_', "")
        }
        (DeValue::Float(number), Kind::Probability) => number.as_str().replace('_', ""),
        (DeValue::String(text), kind) if !matches!(kind, Kind::Flag) => text.as_ref().to_owned(),
        _ => return None,
    };
    Some(vec![text])
}

/// A table of an array, such as `[[flow]]`, as the text KEY=VALUE,…; `None` if a value is neither a string nor a number.
fn of_table(table: &DeTable<'_>) -> Option<String> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    let parts = entries.into_iter().map(|(key, value)| {
        let value = match value.get_ref() {
            DeValue::String(text) => text.as_ref(),
            DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
            _ => return None,
        };
        Some(format!("{}={value}", key.get_ref().replace('_', "-")))
    });
    let parts: Option<Vec<String>> = parts.collect();
    Some(parts?.join(","))
}

/// Line and column of the beginning of `at`.
fn place(text: &str, at: &Range<usize>) -> (usize, usize) {
    let before = text.get(..at.start).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let line = before.matches('\n').count() + 1;
    (line, before[start..].chars().count() + 1)
}

fn refuse(text: &str, at: &Range<usize>, message: String) -> FileError {
    let (line, column) = place(text, at);
    FileError {
        line,
        column,
        message,
    }
}

/// The message for an unknown `key`, with the most similar known one.
fn unknown(key: &str, version: Option<&str>) -> String {
    let suggestion = suggestion(key, PARAMETERS.iter().map(|parameter| parameter.key));
    let version = version.map(|version| format!("; the file was saved by version {version}"));
    let version = version.unwrap_or_default();
    format!(
        "unknown key {key}{suggestion}; expected a flag of `tmt tcp`, with _ for -, that does not concern output{version}"
    )
}

impl Experiment {
    /// Applies the parameters that `other` gives. Returns the keys whose value has changed.
    pub fn override_with(&mut self, mut other: Self) -> Vec<&'static str> {
        let mut replaced = Vec::new();
        for parameter in PARAMETERS {
            if parameter.is_given(&other) {
                if parameter.is_given(self) && parameter.text(self) != parameter.text(&other) {
                    replaced.push(parameter.key);
                }
                (parameter.access.take)(self, &mut other);
            }
        }
        replaced
    }

    /// Removes the value of one parameter, as if it had not been given.
    pub fn unset(&mut self, parameter: &Parameter) {
        (parameter.access.take)(self, &mut Self::default());
    }

    /// Sets one parameter from the texts of its flag or file entry.
    ///
    /// # Errors
    /// A text is not such a value; the message has found and expected.
    pub fn set(&mut self, parameter: &Parameter, texts: &[&str]) -> Result<(), ParseError> {
        (parameter.access.set)(self, texts).map_err(ParseError::new)
    }

    /// The parameters that are given, as the text of a parameter file saved by `version`.
    #[must_use]
    pub fn to_file(&self, version: &str) -> String {
        let mut text = format!("{VERSION} = {}\n", quoted(version));
        for group in Group::ALL {
            let mut heading = Some(group.heading());
            for parameter in group.parameters().filter(|p| p.is_given(self)) {
                if let Some(heading) = heading.take() {
                    text += &format!("\n# {heading}\n");
                }
                let texts = (parameter.access.texts)(self).unwrap_or_default();
                let value = written(parameter.kind, &texts);
                text += &format!("{} = {value}\n", parameter.key);
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
        (Kind::Text(..), [text]) if text.parse::<u32>().is_ok_and(|n| n.to_string() == *text) => {
            text.clone()
        }
        (Kind::List(_), _) => format!("[{}]", all.join(", ")),
        _ => all.concat(),
    }
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> (usize, usize, String) {
        let error = ParameterFile::parse(text).unwrap_err();
        (error.line, error.column, error.message)
    }

    #[test]
    fn a_file_sets_every_type_of_value() {
        let text = "# by hand\nversion = '9'\nrtt = \"36ms\"\npacket='500B'\nrate = \"2Mbps\"\niw = 1_0\nsack = false\n\
                    ecn = \"on\"\nloop = true\nfeedback_loss = 0.5\ndelayed_ack = 4\ncc = \"cubic:beta=0.8\"\n\
                    flow = [\"cc=reno\", \"start=2s\"]\n";
        let file = ParameterFile::parse(text).unwrap();
        assert_eq!(file.version.as_deref(), Some("9"));
        assert_eq!(
            (file.line("rtt"), file.line("flow"), file.line("link")),
            (Some(3), Some(13), None)
        );
        let written = file.experiment.to_file("1");
        for line in [
            "version = \"1\"",
            "rtt = \"36ms\"",
            "iw = 10",
            "sack = false",
            "ecn = true",
            "loop = true",
            "feedback_loss = 0.5",
            "delayed_ack = 4",
            "flow = [\"cc=reno\", \"start=2s\"]",
        ] {
            assert!(
                written.lines().any(|written| written == line),
                "{line} in\n{written}"
            );
        }
        let again = ParameterFile::parse(&written).unwrap();
        assert_eq!(again.experiment.to_file("1"), written);
    }

    #[test]
    fn flows_are_tables_or_texts() {
        let text = "rtt = \"36ms\"\n[[flow]]\ncc = \"cubic:beta=0.8,c=0.4\"\nterrestrial_rtt = \"20ms\"\n\n[[flow]]\n\
                    app = \"cbr(rate=64kbps,packet=160B)\"\nclass = 7\n";
        let tables = ParameterFile::parse(text).unwrap().experiment.to_file("1");
        let flow = "flow = [\"cc=cubic:beta=0.8,c=0.4,terrestrial-rtt=20ms\", \"app=cbr(rate=64kbps,packet=160B),class=7\"]";
        assert!(tables.lines().any(|line| line == flow), "{tables}");
        let (line, _, message) = refusal("rtt = \"1s\"\n[[flow]]\napp = \"cbr\"\ncc = \"cubic\"\n");
        assert_eq!(line, 2);
        assert!(message.contains("a setting of TCP"), "{message}");
        let (_, _, message) = refusal("[[flow]]\nclass = true\n");
        assert!(message.contains("an array"), "{message}");
    }

    #[test]
    fn errors_are_reported_with_their_position() {
        let (line, column, message) = refusal("rtt = \"1s\"\nfedback_delay = \"1s\"\n");
        assert_eq!((line, column), (2, 1));
        assert!(
            message.contains("fedback_delay") && message.contains("'feedback_delay'?"),
            "{message}"
        );
        let (line, column, message) = refusal("\n  rtt = \"500kB\"\n");
        assert_eq!((line, column), (2, 9));
        assert!(
            message.starts_with("rtt: found '500kB', expected a duration"),
            "{message}"
        );
        let (line, _, message) = refusal("rtt = \"1s\"\niw = 3\nrtt = \"2s\"\n");
        assert_eq!(line, 3);
        assert!(
            message.starts_with("rtt: ") && message.contains("once"),
            "{message}"
        );
        for (text, expected) in [
            ("rtt = 500", "a duration with its unit"),
            ("iw = 0", "from 1 to 1000000"),
            ("iw = 0x20", "from 1 to 1000000"),
            ("trace = 0x10", "a string"),
            ("version = 3", "a string"),
            ("json = true", "does not concern output"),
            ("iw = 2.5", "from 1 to 1000000"),
            ("sack = 1", "true or false"),
            ("loop = \"on\"", "true"),
            ("link = \"wifi\"", "timeline"),
            ("flow = \"cc=reno\"", "an array"),
            ("flow = [\"cc=tahoe\"]", "cubic"),
            ("[link]\nrate = \"1Mbps\"", "timeline"),
            ("rtt \"1s\"", "rtt = \"500ms\""),
            ("rtt = \"1s", "rtt = \"500ms\""),
        ] {
            let (_, _, message) = refusal(text);
            assert!(message.contains(expected), "{text}: {message}");
        }
    }

    #[test]
    fn quoted_text_reads_back() {
        for name in [
            "a b",
            "q\"uote",
            "back\\slash",
            "tab\t",
            "é€",
            "007",
            "7",
            "-",
        ] {
            let experiment = Experiment {
                trace: Some(name.to_owned()),
                ..Experiment::default()
            };
            let file = ParameterFile::parse(&experiment.to_file("1")).unwrap();
            assert_eq!(file.experiment.trace.unwrap(), name);
        }
    }

    #[test]
    fn flags_override_a_file_and_only_changed_keys_are_returned() {
        let mut experiment = ParameterFile::parse("rtt = \"1s\"\niw = 4\nseed = 3")
            .unwrap()
            .experiment;
        let flags = ParameterFile::parse("rtt = \"2s\"\niw = 4\nseeds = 5")
            .unwrap()
            .experiment;
        assert_eq!(experiment.override_with(flags), ["rtt"]);
        let file = experiment.to_file("1");
        for line in ["rtt = \"2s\"", "iw = 4", "seed = 3", "seeds = 5"] {
            assert!(file.contains(line), "{file}");
        }
    }

    #[test]
    fn serde_reads_what_it_writes() {
        let text = "rtt = \"36ms\"\niw = 10\nsack = false\nflow = [\"cc=reno\"]\n";
        let experiment = ParameterFile::parse(text).unwrap().experiment;
        let json = serde_json::to_string(&experiment).unwrap();
        let again: Experiment = serde_json::from_str(&json).unwrap();
        assert_eq!(again.to_file("1"), experiment.to_file("1"));
        for wrong in [
            "{\"rt\":\"1s\"}",
            "{\"rtt\":\"1\"}",
            "{\"rtt\":\"1s\",\"rtt\":\"1s\"}",
        ] {
            assert!(
                serde_json::from_str::<Experiment>(wrong).is_err(),
                "{wrong}"
            );
        }
    }
}
