//! `tmt` for Python: schemes over PHY traces, TCP over the result, and sweeps of both, on Arrow tables.
//!
//! The package in `python/tmt` turns arguments into texts and tables into streams, and calls the functions here. They have their
//! knowledge of parameters, schemes and metrics from the registries of the libraries.
//!
//! Modules from bottom to top. A module uses only modules above it in this list (`tests/architecture.rs` checks it):
//! - [`error`]: exceptions; warnings.
//! - [`work`]: runs work on all cores, without the interpreter's lock.
//! - [`input`]: a trace, from a table in memory or from a file.
//! - [`transform`], [`read`], [`tcp`], [`sweep`], [`command`]: the functions of the package; the last calls commands of the program.
//! - [`describe`]: what help, signatures and type stubs derive from.
//! - [`_tmt`]: the module that Python imports.

mod command;
mod describe;
mod error;
mod input;
mod read;
mod sweep;
mod tcp;
mod transform;
mod work;

/// Name and version of the program that comes along.
const TOOL: &str = concat!("tmt ", env!("CARGO_PKG_VERSION"));

/// The native half of the package.
#[pyo3::pymodule]
mod _tmt {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::command::{arguments, models, printed, written};
    #[pymodule_export]
    use crate::describe::{parameters, scheme_examples, schemes};
    #[pymodule_export]
    use crate::error::{Error, UsageError};
    #[pymodule_export]
    use crate::read::plot::plot;
    #[pymodule_export]
    use crate::read::read;
    #[pymodule_export]
    use crate::sweep::{Finished, sweep};
    #[pymodule_export]
    use crate::tcp::tcp;
    #[pymodule_export]
    use crate::transform::apply;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // A panic inside a decoder is caught and becomes an exception with its own message.
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !tmt_core::format::panics_are_contained() {
                print(panic);
            }
        }));
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
