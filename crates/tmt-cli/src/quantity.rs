//! Flags that take a quantity.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command};
use tmt_core::scheme::{SchemeSpec, families};

/// Reads a whole number from `least` to `most`.
pub(crate) fn whole<T: TryFrom<u64>>(
    least: u64,
    most: u64,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let number: Option<u64> = text.parse().ok();
        let number = number.filter(|number| (least..=most).contains(number));
        let number = number.and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| format!("expected a whole number from {least} to {most}"))
    }
}

/// Reads a scheme, and offers the names of the families for completion.
#[derive(Debug, Clone)]
pub(crate) struct SchemeParser;

impl TypedValueParser for SchemeParser {
    type Value = SchemeSpec;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<SchemeSpec, clap::Error> {
        let parser = StringValueParser::new().try_map(|text: String| text.parse::<SchemeSpec>());
        parser.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let names = families().into_iter().map(|family| family.name);
        Some(Box::new(names.map(PossibleValue::new)))
    }
}
