//! Panics that the code under test catches.

/// Lets the readers of Parquet contain what panics in the crate they use; whatever panics here ends the run.
///
/// libFuzzer's own hook ends it at any panic, also at one that is caught.
pub(crate) fn panics() {
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let file = panic.location().map_or("", |place| place.file());
        if !["/parquet-", "/arrow-"]
            .iter()
            .any(|name| file.contains(name))
        {
            told(panic);
        }
    }));
}
