//! Refuses dictionaries that claim more values than they contain.
//!
//! The `parquet` crate allocates memory for the number of values that the header of a dictionary claims, before it
//! checks that they exist: a flipped bit can cost gigabytes. So this module checks first. If a column chunk has a
//! dictionary, it begins with it.

use std::sync::Arc;

use ::parquet::basic::Type as Physical;
use ::parquet::column::page::{Page, PageReader as _};
use ::parquet::errors::Result as ParquetResult;
use ::parquet::file::metadata::ParquetMetaData;
use ::parquet::file::reader::ChunkReader;
use ::parquet::file::serialized_reader::SerializedPageReader;

use super::corrupt;
use crate::types::Result;

/// Checks the dictionaries of the `columns`, given as root indices of a flat schema.
///
/// Other errors of a dictionary are reported when the rows are read.
///
/// # Errors
/// A dictionary claims more values than it contains.
pub(super) fn check<T: ChunkReader + 'static>(
    input: &Arc<T>,
    metadata: &ParquetMetaData,
    columns: &[usize],
) -> Result<()> {
    let schema = metadata.file_metadata().schema_descr();
    for group in metadata.row_groups() {
        for (leaf, column) in group.columns().iter().enumerate() {
            let width = match column.column_type() {
                Physical::INT32 => 4,
                Physical::INT64 | Physical::DOUBLE => 8,
                // Timestamps of old writers.
                Physical::INT96 => 12,
                _ => continue,
            };
            if !columns.contains(&schema.get_column_root_idx(leaf)) {
                continue;
            }
            let rows = usize::try_from(group.num_rows()).unwrap_or(usize::MAX);
            let first = SerializedPageReader::new(Arc::clone(input), column, rows, None)
                .and_then(|mut pages| first_dictionary(&mut pages));
            if let Ok(Some((values, bytes))) = first
                && bytes / width < values
            {
                return Err(corrupt(
                    "a dictionary that claims more values than it contains",
                ));
            }
        }
    }
    Ok(())
}

/// Number of values that the dictionary claims, and its bytes; `None` if there is no dictionary.
fn first_dictionary<T: ChunkReader + 'static>(
    pages: &mut SerializedPageReader<T>,
) -> ParquetResult<Option<(usize, usize)>> {
    if !pages.peek_next_page()?.is_some_and(|page| page.is_dict) {
        return Ok(None);
    }
    Ok(match pages.get_next_page()? {
        Some(Page::DictionaryPage {
            buf, num_values, ..
        }) => Some((num_values as usize, buf.len())),
        _ => None,
    })
}
