//! Files that the texts of parameters name: tables of erasure processes and of applications.

use tmt_core::channel::{self, FAMILIES};

use super::flows;
use super::parameters::Parameter;

impl Parameter {
    /// Whether a text of its value may name files: an erasure process, or a flow.
    #[must_use]
    pub fn takes_files(&self) -> bool {
        self.takes_process() || self.key == "flow"
    }

    /// Whether `text`, one of the texts of its value, names a file.
    #[must_use]
    pub fn names_files(&self, text: &str) -> bool {
        let mut asked = false;
        let named = with_files(text, &mut |_| {
            asked = true;
            Err(String::new())
        });
        self.takes_files() && (asked || named.is_err())
    }
}

/// A text of a value with the content of files, in braces, in place of their names; `read` returns the text of a file, or why it
/// cannot be read. `None` if it names none.
///
/// ```
/// use fluid_tcp::experiment::with_files;
///
/// let mut read = |name: &str| match name {
///     "sizes.csv" => Ok("size_bytes\n500\n-1\n".to_owned()),
///     _ => Ok("position\n7\n".to_owned()),
/// };
/// assert_eq!(with_files("list:lost.csv", &mut read)?, Some("list:{position;7}".to_owned()));
/// let error = with_files("cc=bbr,app=pages(size=csv(sizes.csv))", &mut read).unwrap_err();
/// assert!(error.starts_with("sizes.csv:3: column 1: found '-1', expected a size in bytes"), "{error}");
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
/// A file that cannot be read, or whose content is refused: with its name, line and column.
pub fn with_files(
    text: &str,
    read: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<Option<String>, String> {
    if channel::names_files(text, FAMILIES) {
        let text = channel::with_files(text, FAMILIES, read);
        return text
            .map(|text| Some(text.into_owned()))
            .map_err(|error| error.to_string());
    }
    flows::with_files(text, read)
}
