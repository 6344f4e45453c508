//! Applications by name: the data of a flow, and its transport.
//!
//! An entry turns the values of its parameters into [`Traffic`], which gives a flow its application, and its hosts if they
//! are not TCP. To add one, write one file in `application/` and add one line to [`ENTRIES`].

mod arrivals;
mod bulk;
mod cbr;
mod datagrams;
mod law;
mod on_off;
mod pages;
mod poisson;
mod spacing;
mod voice;

use std::fmt::Debug;

use tmt_core::named::{
    self, Content, Family, Kind, Own, Parameter, ParseError, Values, head, in_braces,
};
use tmt_core::types::{Bytes, Span};

use crate::simulation::Flow;

pub use law::{Law, Unit};
pub use voice::{CODECS, Codec};

/// Data of an application, and how it sends them.
pub trait Traffic: Debug + Send + Sync {
    /// Its datagrams; `None` if it runs over TCP.
    fn datagrams(&self) -> Option<Form> {
        None
    }

    /// The flow with its application, and with its hosts if they are not TCP. `packet` is the size of a packet of TCP; `None`
    /// if the headers leave no room in it.
    fn flow(&self, flow: Flow, packet: Bytes) -> Option<Flow>;

    /// The flows of a run, each made of `flow`, which is that of [`Self::flow`]; `None` if it is this one.
    fn flows(&self, _flow: &Flow, _site: &Site) -> Option<Vec<Flow>> {
        None
    }

    /// Load that it offers in a run, as a share of the rate of the link; `None` if it is no load of many.
    fn load(&self, _flow: &Flow, _site: &Site) -> Option<f64> {
        None
    }

    /// A warning about its runs.
    fn note(&self, _flow: &Flow, _site: &Site) -> Option<String> {
        None
    }

    /// Most flows of TCP that it needs in a run; of a random load their mean.
    fn most_flows(&self, _flow: &Flow, _site: &Site) -> f64 {
        1.0
    }

    /// Whether connections of it open during a run. A proxy that shares its buffer among all flows has too little for each then.
    fn opens_connections(&self) -> bool {
        false
    }

    /// Whether it draws random numbers.
    fn is_random(&self) -> bool {
        false
    }
}

/// Most flows of TCP of one application.
pub const MOST_FLOWS: f64 = 1e6;

/// The run for which flows are made.
#[derive(Debug, Clone, Copy)]
pub struct Site {
    /// Number of the flow in the results, from 0.
    pub number: usize,
    /// Seed of the run.
    pub seed: u64,
    /// Size of a packet of TCP.
    pub packet: Bytes,
    /// RTT of the link, propagation only.
    pub rtt: Span,
    /// Rate of the link for packets, bit/s; `None` if it is unknown.
    pub rate_bps: Option<f64>,
    /// Length of the run.
    pub length: Span,
}

/// The datagrams of an application.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Form {
    /// Size without headers; of the largest, if they differ.
    pub payload: Bytes,
    /// Headers of each.
    pub headers: Bytes,
    /// When they are sent.
    pub pace: Pace,
}

/// When datagrams are sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// Those of one size, at a rate.
    Rate {
        /// Rate of the payload while it sends, bit/s.
        bps: u64,
        /// Share of the time in which it sends, 0 to 1.
        share: f64,
    },
    /// Those of any size, at any time.
    Arrivals,
}

impl Form {
    /// Size on the link, headers included; of the largest, if they differ.
    #[must_use]
    pub const fn size(&self) -> Bytes {
        Bytes(self.payload.0 + self.headers.0)
    }

    /// Mean rate on the link, headers included, bit/s; `None` if it is not given.
    #[must_use]
    pub fn mean_rate_bps(&self) -> Option<f64> {
        use tmt_core::types::to_f64;
        match self.pace {
            Pace::Rate { bps, share } => {
                let with_headers = to_f64(self.size().0) / to_f64(self.payload.0);
                Some(to_f64(bps) * share * with_headers)
            }
            Pace::Arrivals => None,
        }
    }
}

/// How an application is made.
#[derive(Debug, Clone, Copy)]
pub struct Make {
    /// Its traffic from the values of its parameters. The error says what was found and expected.
    pub traffic: fn(&Values) -> Result<Box<dyn Traffic>, ParseError>,
    /// For one that has a parameter of [`Kind::Content`]: the content of its file in one line.
    pub content: Option<Content>,
}

impl Make {
    /// An application without a file of its own.
    #[must_use]
    pub const fn of(traffic: fn(&Values) -> Result<Box<dyn Traffic>, ParseError>) -> Self {
        Self {
            traffic,
            content: None,
        }
    }
}

/// A registered application: name, description, parameters, examples and constructor.
pub type Entry = named::Entry<Make>;

/// An application selected by name, with its parameters: `cbr(rate=64kbps,packet=160B)`.
///
/// ```
/// use fluid_tcp::application::{App, traffic};
///
/// let call: App = "cbr(codec=g729)".parse()?;
/// let form = traffic(&call)?.datagrams().ok_or("no datagrams")?;
/// assert_eq!((form.payload.0, form.headers.0, form.mean_rate_bps()), (20, 40, Some(24_000.0)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type App = named::Choice<Make>;

/// All applications. A new one is a file in `application/` and a line here.
pub static ENTRIES: &[&Entry] = &[
    &arrivals::ENTRY,
    &bulk::BULK,
    &bulk::BYTES,
    &cbr::ENTRY,
    &on_off::ENTRY,
    &pages::REQUEST,
    &pages::ENTRY,
    &poisson::ENTRY,
];

impl Family for Make {
    const KIND: &'static str = "application";
    const ENTRIES: &'static [&'static Entry] = ENTRIES;
    /// A transfer without end.
    const DEFAULT: &'static Entry = &bulk::BULK;

    fn own() -> &'static Own<Entry> {
        static OWN: Own<Entry> = Own::new();
        &OWN
    }
}

/// The traffic of an application.
///
/// # Errors
/// Values of its parameters that do not fit each other.
pub fn traffic(app: &App) -> Result<Box<dyn Traffic>, ParseError> {
    (app.entry().make.traffic)(app.values())
}

/// The text of an application with the content of files in place of their names; `read` returns the text of a file, or why it
/// cannot be read. `None` if it names none.
///
/// ```
/// use fluid_tcp::application::with_files;
///
/// let mut read = |_: &str| Ok("size_bytes\n1000\n20000 # the page itself\n".to_owned());
/// let text = with_files("pages(size=csv(sizes.csv),objects=2)", &mut read)?;
/// assert_eq!(text.as_deref(), Some("pages(size=csv({size_bytes;1000;20000}),objects=2)"));
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
/// A file that cannot be read, or whose content is refused: with its name, line and column.
pub fn with_files(
    text: &str,
    read: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<Option<String>, String> {
    let (name, rest) = head(text);
    let entry = App::entries().into_iter().find(|entry| entry.name == name);
    let Some((entry, rest)) = entry.zip(rest) else {
        return Ok(None);
    };
    let mut unnamed = |parameter: &'static Parameter, value: &str| match parameter.kind {
        Kind::Text(_) => law::with_file(value, read),
        kind => match entry.make.content.filter(|_| kind.names_file(value)) {
            Some(content) => {
                let line = in_braces(value, || entry.missing(parameter), content, read)?;
                line.map(Some).map_err(|error| error.to_string())
            }
            None => Ok(None),
        },
    };
    let replaced = entry.replaced(rest, &mut unnamed)?;
    Ok(replaced.map(|rest| format!("{name}({rest})")))
}

#[cfg(test)]
mod tests;
