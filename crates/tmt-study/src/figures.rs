//! Tables and figures of papers as data: the experiment as a plan of a sweep, what the paper prints, what theory says, and what
//! must hold (docs/figures.md).
//!
//! A figure is a TOML file in `figures/`, and a line in [`FILES`]; a user's own file has the same form.

mod cells;
mod check;
mod file;
mod judge;
mod measure;
mod own;
mod part;
mod row;
mod rows;
mod rules;
mod template;
mod theory;

use std::sync::LazyLock;

use tmt_core::types::named::suggestion;

pub use judge::{Bound, Verdict};
pub use part::{Changes, Part};
pub use row::{Row, reasons};

use crate::plan::PlanError;

/// Files of the registry, in the order of the papers. One that is like another comes after it.
const FILES: &[&str] = &[
    include_str!("../figures/kuhn-table1.toml"),
    include_str!("../figures/kuhn-table2.toml"),
    include_str!("../figures/kuhn-table3.toml"),
    include_str!("../figures/kuhn-fig5.toml"),
    include_str!("../figures/kuhn-fig6.toml"),
    include_str!("../figures/link-further.toml"),
    include_str!("../figures/kuhn-fig7.toml"),
    include_str!("../figures/kuhn-fig8.toml"),
    include_str!("../figures/kuhn-fig9.toml"),
    include_str!("../figures/kuhn-fig10.toml"),
    include_str!("../figures/kuhn-fig11.toml"),
    include_str!("../figures/kuhn-exact.toml"),
    include_str!("../figures/clift-table1.toml"),
    include_str!("../figures/clift-table2.toml"),
    include_str!("../figures/clift-fig5.toml"),
    include_str!("../figures/clift-fig6.toml"),
    include_str!("../figures/clift-exact.toml"),
    include_str!("../figures/barakat-fig3.toml"),
    include_str!("../figures/barakat-fig4.toml"),
    include_str!("../figures/barakat-fig5.toml"),
    include_str!("../figures/barakat-fig6.toml"),
    include_str!("../figures/barakat-fig7.toml"),
    include_str!("../figures/barakat-fig8.toml"),
    include_str!("../figures/barakat-fig15.toml"),
    include_str!("../figures/barakat-fig16.toml"),
    include_str!("../figures/barakat-exact.toml"),
    include_str!("../figures/celandroni-table1.toml"),
    include_str!("../figures/celandroni-table2.toml"),
    include_str!("../figures/celandroni-fig1.toml"),
    include_str!("../figures/celandroni-fig2.toml"),
    include_str!("../figures/celandroni-fig3.toml"),
    include_str!("../figures/celandroni-fig4.toml"),
    include_str!("../figures/celandroni-fig5.toml"),
    include_str!("../figures/celandroni-fig6.toml"),
    include_str!("../figures/celandroni-decoded.toml"),
    include_str!("../figures/zhu-fig6.toml"),
    include_str!("../figures/zhu-fig7.toml"),
    include_str!("../figures/zhu-fig8.toml"),
    include_str!("../figures/zhu-fig9.toml"),
    include_str!("../figures/zhu-fig11.toml"),
    include_str!("../figures/zhu-fig12.toml"),
    include_str!("../figures/zhu-fig13.toml"),
    include_str!("../figures/zhu-fig14.toml"),
    include_str!("../figures/zhu-fig15.toml"),
    include_str!("../figures/zhu-fig16.toml"),
    include_str!("../figures/zhu-fig17.toml"),
    include_str!("../figures/zhu-exact.toml"),
    include_str!("../figures/statements.toml"),
];

/// A table or figure of a paper, or a list of statements.
#[derive(Debug, Clone)]
pub struct Figure {
    /// Name, as users type it.
    pub name: String,
    /// Names of further figures that have the same points.
    pub also: Vec<String>,
    /// One line: paper, number, content.
    pub about: String,
    /// Remarks for its reader, a sentence each.
    pub notes: Vec<String>,
    /// Why it is not there yet.
    pub open: Option<String>,
    /// How long it takes, where that is too long for a run of all figures: it then runs by its name alone.
    pub long: Option<String>,
    /// Its experiments; none if it is open.
    pub parts: Vec<Part>,
    /// Its file.
    pub text: String,
}

static FIGURES: LazyLock<Result<Vec<Figure>, PlanError>> = LazyLock::new(|| {
    let mut figures: Vec<Figure> = Vec::new();
    for text in FILES {
        let known = |name: &str| figures.iter().find(|figure| figure.has_name(name));
        let figure = file::parse(text, &known, &mut |_| Ok(None));
        figures.push(figure.map_err(|error| PlanError {
            message: format!("{}: {}", file::name(text), error.message),
            ..error
        })?);
    }
    Ok(figures)
});

/// All figures that come with the program, in the order of the papers.
///
/// # Errors
/// A file that cannot be read, which the tests of this crate exclude.
///
/// ```
/// let figures = tmt_study::figures::all()?;
/// assert!(figures.iter().any(|figure| figure.name == "kuhn-table3"));
/// # Ok::<(), tmt_study::PlanError>(())
/// ```
pub fn all() -> Result<&'static [Figure], PlanError> {
    FIGURES.as_deref().map_err(PlanError::clone)
}

/// The figure of this name.
///
/// # Errors
/// An unknown name, with the nearest one.
pub fn figure(name: &str) -> Result<&'static Figure, PlanError> {
    let all = all()?;
    let found = all.iter().find(|figure| figure.has_name(name));
    found.ok_or_else(|| {
        let names = all.iter().flat_map(Figure::names);
        PlanError::whole(format!(
            "unknown figure {name}{}, expected a name of `tmt reproduce --list`, or a file that ends in .toml",
            suggestion(name, names)
        ))
    })
}

impl Figure {
    /// Reads a figure. `unnamed` as in [`crate::Draft::plan`].
    ///
    /// # Errors
    /// Text that is no figure, with its place.
    pub fn parse(
        text: &str,
        unnamed: &mut dyn FnMut(&str) -> Result<Option<String>, String>,
    ) -> Result<Self, PlanError> {
        let known = |name: &str| all().ok()?.iter().find(|figure| figure.has_name(name));
        file::parse(text, &known, unnamed)
    }

    /// All its names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let also = self.also.iter().map(String::as_str);
        std::iter::once(self.name.as_str()).chain(also)
    }

    /// Whether this is one of its names.
    #[must_use]
    pub fn has_name(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }
}

#[cfg(test)]
mod tests;
