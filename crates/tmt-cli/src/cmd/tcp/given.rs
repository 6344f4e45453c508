//! Parameters from flags and a parameter file, and their names in messages.

use fluid_tcp::experiment::{Error, Experiment, Fallback, PARAMETERS, Parameter, ParameterFile};
use tmt_core::format::import::render_keys;
use tmt_core::types::{Note, Severity};

use super::args::{Args, Given, typed};
use super::spool::unescaped;
use crate::exit::{Failure, Outcome, headline, note, warning};
use crate::input::process::unnamed;
use crate::input::{LONGEST_TEXT, open, text};
use crate::output::{Output, is_stdout};

/// An experiment, and the origin of its parameters.
pub(super) struct Source {
    pub(super) experiment: Experiment,
    /// Name and content of the parameter file.
    file: Option<(String, ParameterFile)>,
    /// Parameters given by flags.
    flags: Experiment,
}

impl Given {
    /// The experiment, with processes and flows whose files are read.
    pub(crate) fn read(&self) -> Outcome<Experiment> {
        let mut experiment = self.experiment.clone();
        for (parameter, texts) in &self.in_files {
            let refused = |why| Failure::failed(format!("{}: {why}", typed(parameter.key)));
            let read = |text: &String| Ok(unnamed(text)?.unwrap_or_else(|| text.clone()));
            let texts: Result<Vec<String>, _> = texts.iter().map(read).collect();
            let texts = texts.map_err(refused)?;
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let set = experiment.set(parameter, &texts);
            set.map_err(|why| refused(why.to_string()))?;
        }
        Ok(experiment)
    }

    /// The values of a flag as they were typed, if one of them names a file; the values of the experiment have its content.
    pub(crate) fn as_typed(&self, key: &str) -> Option<&[String]> {
        let named = self.in_files.iter();
        let mut named = named.filter(|(parameter, _)| parameter.key == key);
        named.next().map(|(_, texts)| texts.as_slice())
    }
}

impl Source {
    /// Reads flags and parameter file. Flags override the file.
    pub(super) fn of(args: &Args) -> Outcome<Self> {
        let flags = args.given.read()?;
        let mut source = Self {
            experiment: flags.clone(),
            flags,
            file: None,
        };
        if let Some(path) = &args.params {
            let file = read(path)?;
            source.experiment = file.experiment.clone();
            source.file = Some((path.clone(), file.clone()));
            let replaced = source.experiment.override_with(source.flags.clone());
            note_file(path, &file, &replaced);
            source.drop_conflicting_defaults(path, &file, &replaced);
        }
        Ok(source)
    }

    /// Drops default values of the file that contradict flags. A saved file has every value, and a flag must override
    /// those that were never chosen. Values that are not defaults stay.
    fn drop_conflicting_defaults(&mut self, path: &str, file: &ParameterFile, replaced: &[&str]) {
        if replaced.contains(&"profile") {
            let (of, to) = (file.experiment.profile(), self.experiment.profile());
            let of_file = |parameter: &&Parameter| {
                parameter.fallback == Fallback::Profile && self.is_of_file(parameter.key)
            };
            let (defaults, chosen): (Vec<_>, Vec<_>) = PARAMETERS
                .iter()
                .filter(of_file)
                .partition(|parameter| parameter.is_default(&file.experiment));
            if !defaults.is_empty() {
                note!(
                    "tcp",
                    "--profile {to} replaces the values of profile {of} in {path}"
                );
            }
            for parameter in defaults {
                self.experiment.unset(parameter);
            }
            for Parameter { key, .. } in chosen {
                note!(
                    "tcp",
                    "{key} of {path} is kept: it was not the profile's default"
                );
            }
        }
        // A file that contradicts itself is refused.
        let own = file.experiment.refusal().map(|error| error.to_string());
        // Every iteration removes one value.
        while let Some(Error::Refused { key, message }) = self.experiment.refusal() {
            if own.as_ref() == Some(&message) {
                return;
            }
            let default = named_in(key, &message).find(|parameter| {
                self.is_of_file(parameter.key) && parameter.is_default(&self.experiment)
            });
            let Some(parameter) = default else {
                return;
            };
            self.experiment.unset(parameter);
            let (key, line) = (parameter.key, file.line(parameter.key).unwrap_or(0));
            note!("tcp", "{key} of {path}:{line} is a default and is ignored");
        }
    }

    /// Whether the value of `key` is from the file.
    fn is_of_file(&self, key: &str) -> bool {
        let file = self.file.as_ref();
        file.is_some_and(|(_, file)| file.line(key).is_some())
            && !self.flags.gives(key)
            && self.experiment.gives(key)
    }

    /// `text` with every key in backticks replaced by the name as given: key of the file, or flag.
    pub(super) fn named(&self, text: &str) -> String {
        let named = named(text, |key| match key {
            key if self.is_of_file(key) => key.to_owned(),
            key => typed(key),
        });
        unescaped(&named)
    }

    /// Prints notes and warnings of a plan.
    pub(super) fn print_notes(&self, notes: &[Note]) {
        for Note { severity, text } in notes {
            match severity {
                Severity::Info => note!("tcp", "{}", self.named(text)),
                Severity::Notice => headline!("tcp", "{}", self.named(text)),
                Severity::Warning => warning!("tcp", "{}", self.named(text)),
            }
        }
    }

    /// The failure, with the line of the parameter file at fault.
    pub(super) fn failure(&self, error: Error) -> Failure {
        match error {
            Error::Refused { key, message } => {
                // The file may have the other parameter of a contradiction.
                let mut keys = named_in(key, &message).map(|parameter| parameter.key);
                let place = self.file.as_ref().and_then(|(path, file)| {
                    let key = keys.find(|key| self.is_of_file(key))?;
                    Some(format!("{path}:{}: ", file.line(key)?))
                });
                let message = self.named(&message);
                Failure::usage(format!("{}{message}", place.unwrap_or_default()))
            }
            Error::Data(message) => Failure::failed(self.named(&message)),
            Error::Storage(error) => match error.downcast::<Failure>() {
                Ok(failure) => *failure,
                Err(error) => Failure::failed(error),
            },
            stopped @ Error::Stopped => Failure::failed(stopped),
        }
    }
}

/// `text` with every key of a parameter in backticks replaced by its name.
pub(crate) fn named(text: &str, name: impl Fn(&str) -> String) -> String {
    render_keys(text, |key| match Parameter::of(key) {
        Some(_) => name(key),
        None => format!("`{key}`"),
    })
}

/// Prints notes on the version of a parameter file and on flags that override it.
fn note_file(path: &str, file: &ParameterFile, replaced: &[&str]) {
    let this = env!("CARGO_PKG_VERSION");
    if let Some(version) = file.version.as_deref().filter(|version| *version != this) {
        note!(
            "tcp",
            "{path} was saved by version {version}, this is {this}; all its keys are known"
        );
    }
    for key in replaced {
        let line = file.line(key).unwrap_or(0);
        note!("tcp", "{} overrides {path}:{line}", typed(key));
    }
}

/// The parameter `key`, and those that `message` names.
fn named_in<'a>(key: &'a str, message: &'a str) -> impl Iterator<Item = &'static Parameter> + 'a {
    let keys = std::iter::once(key).chain(message.split('`').skip(1).step_by(2));
    keys.filter_map(Parameter::of)
}

/// Reads a parameter file.
fn read(path: &str) -> Outcome<ParameterFile> {
    if is_stdout(path) {
        return Err(Failure::usage(
            "--params -: found stdin, expected a file name",
        ));
    }
    let text = text(open("tcp", Some(path))?, LONGEST_TEXT)?;
    ParameterFile::parse_with(&text, &mut unnamed)
        .map_err(|error| Failure::usage(format!("{path}:{}:{}: {error}", error.line, error.column)))
}

/// Writes the file of `--save-params`. It still has its temporary name.
pub(super) fn save(args: &Args, resolved: &Experiment) -> Outcome<Option<Output>> {
    let Some(path) = &args.save_params else {
        return Ok(None);
    };
    let mut output = Output::create(Some(path))?;
    output.write(file(resolved).as_bytes())?;
    Ok(Some(output))
}

/// The parameter file that repeats a run.
pub(super) fn file(resolved: &Experiment) -> String {
    resolved.to_file(env!("CARGO_PKG_VERSION"))
}
