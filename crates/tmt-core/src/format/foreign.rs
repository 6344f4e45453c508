//! Properties of a link that formats of other tools can hold. Importers and exporters describe themselves by them, so that one
//! table lists both.

use serde::Serialize;

/// Properties of a link that files of a format can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "four independent properties, each a column of a table"
)]
pub struct Carries {
    /// When the link could deliver: its rate over time.
    pub capacity: bool,
    /// A delay of each packet or opportunity, or over time.
    pub delay: bool,
    /// Which packets were lost.
    pub loss: bool,
    /// In which order packets arrived, if that differs from the order of sending.
    pub order: bool,
}

impl Carries {
    /// Nothing, to be extended by the other methods.
    pub const NOTHING: Self = Self {
        capacity: false,
        delay: false,
        loss: false,
        order: false,
    };

    /// The same with capacity.
    #[must_use]
    pub const fn capacity(self) -> Self {
        Self {
            capacity: true,
            ..self
        }
    }

    /// The same with delays.
    #[must_use]
    pub const fn delay(self) -> Self {
        Self {
            delay: true,
            ..self
        }
    }

    /// The same with losses.
    #[must_use]
    pub const fn loss(self) -> Self {
        Self { loss: true, ..self }
    }

    /// The same with the order of arrival.
    #[must_use]
    pub const fn order(self) -> Self {
        Self {
            order: true,
            ..self
        }
    }

    /// The four properties with their names, in the order of tables.
    #[must_use]
    pub const fn named(self) -> [(&'static str, bool); 4] {
        [
            ("capacity", self.capacity),
            ("delay", self.delay),
            ("loss", self.loss),
            ("order", self.order),
        ]
    }
}

/// A format of another tool in a list of all: an importer, an exporter, or both under one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ForeignFormat {
    /// Name on the command line.
    pub name: &'static str,
    /// Content of its files, in one line.
    pub about: &'static str,
    /// Properties read from its files; `None` if they are not read.
    pub reads: Option<Carries>,
    /// Properties written to its files; `None` if they are not written.
    pub writes: Option<Carries>,
}

/// Joins the lists of what is read and of what is written: formats of one name become one, with the text of the first.
#[must_use]
pub fn joined(lists: impl IntoIterator<Item = ForeignFormat>) -> Vec<ForeignFormat> {
    let mut all: Vec<ForeignFormat> = Vec::new();
    for format in lists {
        match all.iter_mut().find(|known| known.name == format.name) {
            Some(known) => {
                known.reads = known.reads.or(format.reads);
                known.writes = known.writes.or(format.writes);
            }
            None => all.push(format),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exporter_joins_the_importer_of_its_name() {
        let format = |name, reads, writes| ForeignFormat {
            name,
            about: "opportunities",
            reads,
            writes,
        };
        let (all, some) = (
            Carries::NOTHING.capacity().delay(),
            Carries::NOTHING.capacity(),
        );
        let found = joined([
            format("one", Some(all), None),
            format("two", None, Some(some)),
            format("one", None, Some(some)),
        ]);
        assert_eq!(
            found,
            [
                format("one", Some(all), Some(some)),
                format("two", None, Some(some))
            ]
        );
    }
}
