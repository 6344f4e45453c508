//! Reads the batches of a table in memory, or of a stream of another library, as if they were those of a file.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema};

use super::FORMAT;
use crate::format::columnar::{Item, Layout, Options, Source, head};
use crate::types::{Error, Result};

/// Most rows of a batch, so that all threads have work: a table of another library may be a single batch.
const PIECE: usize = 1 << 15;

/// Reads `batches` with the columns of `schema`, whose metadata are `metadata` in their order. Columns are not copied.
///
/// A table is whole without an end line. With one, another number of rows is a cut if `allow_cut` says so.
///
/// # Errors
/// A schema without the required columns or with unsupported types, or an invalid head.
pub fn read<'a, 'm>(
    schema: &Schema,
    metadata: impl Iterator<Item = (&'m str, &'m str)>,
    mut batches: impl Iterator<Item = Result<RecordBatch, ArrowError>> + Send + 'a,
    options: &Options,
    allow_cut: bool,
) -> Result<Source<'a>> {
    let (metadata, end) = head::read(metadata)?;
    let layout = Layout::of(schema, options)?;
    let columns = layout.indices();
    let mut rest: Option<RecordBatch> = None;
    let mut rows = 0;
    let items = move || {
        let batch = match rest.take() {
            Some(rest) => rest,
            None => match batches.next().transpose().map_err(error)? {
                Some(batch) => batch.project(&columns).map_err(error)?,
                None if allow_cut && end.is_some_and(|end| end.rows != rows) => {
                    return Ok(Item::Cut);
                }
                None => return Ok(Item::End),
            },
        };
        let length = batch.num_rows().min(PIECE);
        if length < batch.num_rows() {
            rest = Some(batch.slice(length, batch.num_rows() - length));
        }
        rows += length as u64;
        Ok(Item::Rows(batch.slice(0, length), None))
    };
    Ok(Source {
        format: FORMAT,
        has_end_line: false,
        metadata,
        end,
        layout: Arc::new(layout),
        zero: None,
        rows: 0,
        items: Box::new(items),
    })
}

/// The error of another library that provides the batches.
fn error(error: ArrowError) -> Error {
    match error {
        ArrowError::IoError(_, error) => error.into(),
        other => std::io::Error::other(other).into(),
    }
}
