//! Entries that a program adds to the registries of the crates.

use std::sync::OnceLock;

/// Something that is selected by its name.
pub trait Named: 'static {
    /// Its name, with which its text starts.
    fn name(&self) -> &'static str;
}

/// The entries of a registry that are a program's own. A program registers them once, before it reads any text that names
/// them; all lists, parsers and messages then have them beside those of the crate.
#[derive(Debug)]
pub struct Own<T: 'static>(OnceLock<Vec<&'static T>>);

/// A registration that is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegisterError {
    /// Two entries have the same name.
    #[error("found two entries with the name '{0}', expected a name for each")]
    SameName(&'static str),
    /// The program has registered entries before.
    #[error("found a second registration of the same kind, expected all entries in one")]
    Again,
}

impl<T: Named> Own<T> {
    /// None yet.
    #[must_use]
    #[expect(
        clippy::new_without_default,
        reason = "a static needs a constant function"
    )]
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// Registers `own` beside the entries of the crate.
    ///
    /// # Errors
    /// [`RegisterError`]; nothing is then registered.
    pub fn register(
        &self,
        of_crate: &[&'static T],
        own: Vec<&'static T>,
    ) -> Result<(), RegisterError> {
        let all = [of_crate, &own].concat();
        for (number, entry) in all.iter().enumerate() {
            if all[..number]
                .iter()
                .any(|other| other.name() == entry.name())
            {
                return Err(RegisterError::SameName(entry.name()));
            }
        }
        self.0.set(own).map_err(|_| RegisterError::Again)
    }

    /// The entries of the crate, and those that the program has registered.
    #[must_use]
    pub fn after(&self, of_crate: &[&'static T]) -> Vec<&'static T> {
        let own = self.0.get().map_or(&[][..], Vec::as_slice);
        [of_crate, own].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Named for &'static str {
        fn name(&self) -> &'static str {
            self
        }
    }

    #[test]
    fn entries_are_registered_once_and_under_names_of_their_own() {
        let own = Own::new();
        let of_crate: &[&&str] = &[&"cubic"];
        assert_eq!(own.after(of_crate), [&"cubic"]);
        let taken = own.register(of_crate, vec![&"scalable", &"cubic"]);
        assert_eq!(taken, Err(RegisterError::SameName("cubic")));
        assert_eq!(own.register(of_crate, vec![&"scalable"]), Ok(()));
        assert_eq!(own.after(of_crate), [&"cubic", &"scalable"]);
        let again = own.register(of_crate, vec![&"other"]);
        assert_eq!(again, Err(RegisterError::Again));
    }
}
