//! Ends long work before its end.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether work shall end without a result. It is asked on the threads that do the work, many times a second.
///
/// ```
/// use tmt_core::types::Stopped;
///
/// assert!(Stopped::when(|| true).now());
/// assert!(!Stopped::default().now()); // never
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Stopped(Ask);

/// Who says so.
#[derive(Debug, Clone, Copy, Default)]
enum Ask {
    #[default]
    Never,
    Call(fn() -> bool),
    Flag(&'static AtomicBool),
}

impl Stopped {
    /// Never.
    pub const NEVER: Self = Self(Ask::Never);

    /// As soon as `asked` says so.
    #[must_use]
    pub const fn when(asked: fn() -> bool) -> Self {
        Self(Ask::Call(asked))
    }

    /// As soon as `flag` is set; may be asked on any thread.
    #[must_use]
    pub const fn by(flag: &'static AtomicBool) -> Self {
        Self(Ask::Flag(flag))
    }

    /// Whether the work shall end now.
    #[must_use]
    pub fn now(self) -> bool {
        match self.0 {
            Ask::Never => false,
            Ask::Call(asked) => asked(),
            Ask::Flag(flag) => flag.load(Ordering::Relaxed),
        }
    }
}

/// What may end some work makes no other work of it.
impl PartialEq for Stopped {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
