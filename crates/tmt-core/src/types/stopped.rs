//! Ends long work before its end.

/// Whether work shall end without a result. It is asked on the threads that do the work, many times a second.
///
/// ```
/// use tmt_core::types::Stopped;
///
/// assert!(Stopped::when(|| true).now());
/// assert!(!Stopped::default().now()); // never
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Stopped(Option<fn() -> bool>);

impl Stopped {
    /// Never.
    pub const NEVER: Self = Self(None);

    /// As soon as `asked` says so.
    #[must_use]
    pub const fn when(asked: fn() -> bool) -> Self {
        Self(Some(asked))
    }

    /// Whether the work shall end now.
    #[must_use]
    pub fn now(self) -> bool {
        self.0.is_some_and(|asked| asked())
    }
}

/// What may end some work makes no other work of it.
impl PartialEq for Stopped {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
