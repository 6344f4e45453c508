//! Panics that the code under test catches.

/// Lets the reader of Parquet contain what panics in the crate it uses; any other panic ends the run.
///
/// libFuzzer's own hook ends it at any panic, also at one that is caught.
pub(crate) fn panics() {
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !tmt_core::format::parquet::panics_are_contained() {
            told(panic);
        }
    }));
}
