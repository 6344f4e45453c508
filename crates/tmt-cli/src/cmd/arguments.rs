//! The arguments of a command as data, for programs that call it: their signatures, help and types derive from them.

use clap::{Arg, ArgAction};

use crate::cmd::whole;

/// An argument of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// Name of the flag without its dashes, or of the positional argument.
    pub name: String,
    /// Whether it has no flag.
    pub is_positional: bool,
    /// Whether it takes a value; it is on or off otherwise.
    pub takes_value: bool,
    /// Whether it may be given more than once.
    pub repeats: bool,
    /// Placeholder of its value.
    pub value: String,
    /// Its values, if they are words of a list.
    pub words: Vec<String>,
    /// Its help, with the default.
    pub help: String,
}

/// The arguments of the command `name` in the order of its help, without those of all commands. `None` if there is no such command.
#[must_use]
pub fn arguments(name: &str) -> Option<Vec<Argument>> {
    let tmt = whole();
    let global: Vec<&str> = tmt
        .get_arguments()
        .map(|arg| arg.get_id().as_str())
        .collect();
    let command = tmt.find_subcommand(name)?;
    let own = command
        .get_arguments()
        .filter(|arg| !arg.is_hide_set() && !global.contains(&arg.get_id().as_str()));
    Some(own.map(argument).collect())
}

fn argument(arg: &Arg) -> Argument {
    let takes_value = arg.get_action().takes_values();
    let value = arg.get_value_names().and_then(|names| names.first());
    let words = arg.get_possible_values();
    let words = words
        .iter()
        .filter(|_| takes_value && !arg.is_hide_possible_values_set());
    let default = arg
        .get_default_values()
        .iter()
        .map(|value| value.to_string_lossy());
    let default = default.collect::<Vec<_>>().join(" ");
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    Argument {
        name: arg.get_long().unwrap_or(arg.get_id().as_str()).to_owned(),
        is_positional: arg.is_positional(),
        takes_value,
        repeats: matches!(arg.get_action(), ArgAction::Append)
            || arg
                .get_num_args()
                .is_some_and(|count| count.max_values() > 1),
        value: value.map_or_else(|| arg.get_id().to_string(), ToString::to_string),
        words: words.map(|word| word.get_name().to_owned()).collect(),
        help: if default.is_empty() || !takes_value {
            help
        } else {
            format!("{help} [default: {default}]")
        },
    }
}
