//! What flags and a parameter file give together, and how messages name it.

use std::io::Read as _;

use fluid_tcp::experiment::Fallback;
use fluid_tcp::experiment::{Error, Experiment, PARAMETERS, Parameter, ParameterFile};

use super::args::{Args, typed};
use super::spool::shown;
use crate::exit::{Failure, Outcome, note};
use crate::input::open;
use crate::output::{Output, is_stdout};

/// An experiment, and where its parameters came from.
pub(super) struct Source {
    pub(super) experiment: Experiment,
    /// Name and content of the parameter file.
    file: Option<(String, ParameterFile)>,
    /// What flags give.
    flags: Experiment,
}

impl Source {
    /// What the flags give, over what the parameter file gives.
    pub(super) fn of(args: &Args) -> Outcome<Self> {
        let flags = args.given.0.clone();
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
            remark_on_file(path, &file, &replaced);
            source.give_way(path, &file, &replaced);
        }
        Ok(source)
    }

    /// Drops what the file gives as defaults where flags leave no meaning to them: a saved file holds every value, and a
    /// flag must win over those that nobody chose. What is not a default stays.
    fn give_way(&mut self, path: &str, file: &ParameterFile, replaced: &[&str]) {
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
                    "what {path} has of profile {of} gives way to profile {to}"
                );
            }
            for parameter in defaults {
                self.experiment.unset(parameter);
            }
            for Parameter { key, .. } in chosen {
                note!("tcp", "{key} of {path} stays, whatever the profile");
            }
        }
        // A file that contradicts itself is refused.
        let own = file.experiment.refusal().map(|error| error.to_string());
        // Each time round one value less.
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
            note!("tcp", "{key} of {path}:{line} is a default and gives way");
        }
    }

    /// Whether the value of `key` is the file's.
    fn is_of_file(&self, key: &str) -> bool {
        let file = self.file.as_ref();
        file.is_some_and(|(_, file)| file.line(key).is_some())
            && !self.flags.gives(key)
            && self.experiment.gives(key)
    }

    /// `text` with every parameter by the name under which it was given.
    fn named(&self, text: &str) -> String {
        let mut parts = text.split('`');
        let mut named = parts.next().unwrap_or_default().to_owned();
        while let Some(key) = parts.next() {
            match Parameter::of(key) {
                Some(_) if self.is_of_file(key) => named += key,
                Some(_) => named += &typed(key),
                None => named += &format!("`{key}`"),
            }
            named += parts.next().unwrap_or_default();
        }
        shown(&named)
    }

    /// Says what there is to say before the runs.
    pub(super) fn remark(&self, notes: &[String]) {
        for line in notes {
            note!("tcp", "{}", self.named(line));
        }
    }

    /// Why the experiment cannot run, with the line of the file that would have to change.
    pub(super) fn failure(&self, error: Error) -> Failure {
        match error {
            Error::Refused { key, message } => {
                // The file may hold the other side of a contradiction.
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
        }
    }
}

/// Says what a file's values are worth beside flags and this version.
fn remark_on_file(path: &str, file: &ParameterFile, replaced: &[&str]) {
    let this = env!("CARGO_PKG_VERSION");
    if let Some(version) = file.version.as_deref().filter(|version| *version != this) {
        note!(
            "tcp",
            "{path} was saved by version {version}, this is {this}; all of its keys are known"
        );
    }
    for key in replaced {
        let line = file.line(key).unwrap_or(0);
        note!("tcp", "{} wins over {path}:{line}", typed(key));
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
            "--params -: found stdin, expected the name of a file",
        ));
    }
    let mut input = open("tcp", Some(path))?;
    let mut bytes = Vec::new();
    let read = input.reader.read_to_end(&mut bytes);
    read.map_err(|error| Failure::io(&input.name, &error))?;
    let text = String::from_utf8(bytes).map_err(|_| {
        let message = format!("{path}: found bytes that are not UTF-8, expected TOML");
        Failure::usage(message)
    })?;
    ParameterFile::parse(&text)
        .map_err(|error| Failure::usage(format!("{path}:{}:{}: {error}", error.line, error.column)))
}

/// Writes the parameter file that the flags ask for; it is yet to be made final.
pub(super) fn save(args: &Args, resolved: &Experiment) -> Outcome<Option<Output>> {
    let Some(path) = &args.save_params else {
        return Ok(None);
    };
    let mut output = Output::create(Some(path))?;
    output.write(resolved.to_file(env!("CARGO_PKG_VERSION")).as_bytes())?;
    Ok(Some(output))
}
