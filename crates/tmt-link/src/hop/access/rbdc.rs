//! Rate-based dynamic capacity (RBDC): the terminal requests a rate by what waits, beside a constant one.

use tmt_core::named::{Kind, Parameter, Value};
use tmt_core::types::{BitRate, Span};

use super::{Entry, Make, Requested, Terms};

/// RBDC as a registry entry.
pub static ENTRY: Entry = Entry {
    name: "rbdc",
    about: "a rate on request, from one round trip after it on",
    parameters: &[
        Parameter::required("max", Kind::Rate),
        Parameter::required(
            "frame",
            Kind::Duration(Span::from_micros(1), Span::from_secs(3600)),
        ),
        Parameter::optional("cra", Kind::Rate, "rate without a request"),
        Parameter::optional(
            "rtt",
            Kind::Duration(Span::ZERO, Span::from_secs(3600)),
            "time from a request to its assignment, else the RTT of the link",
        ),
    ],
    examples: &[
        "rbdc:max=512kbps,frame=50ms",
        "rbdc:max=512kbps,frame=50ms,cra=16kbps,rtt=700ms",
    ],
    make: Make(|values| {
        let constant = match values.get("cra") {
            Some(Value::Rate(rate)) => *rate,
            _ => BitRate(0),
        };
        let round_trip = match values.get("rtt") {
            Some(Value::Duration(round_trip)) => Some(*round_trip),
            _ => None,
        };
        Terms {
            constant,
            requested: Some(Requested {
                most: values.rate("max"),
                frame: values.duration("frame"),
                round_trip,
            }),
        }
    }),
};
