//! Dictionaries that claim more values than they have.
//!
//! The crate sets memory aside for as many values as a dictionary's header claims, gigabytes for a
//! flipped bit, before it looks whether they are there; so that is looked at first. Each column of
//! a row group begins with its dictionary, where it has one.

use std::sync::Arc;

use ::parquet::basic::Type as Physical;
use ::parquet::column::page::{Page, PageReader as _};
use ::parquet::errors::Result as ParquetResult;
use ::parquet::file::metadata::ParquetMetaData;
use ::parquet::file::reader::ChunkReader;
use ::parquet::file::serialized_reader::SerializedPageReader;

use super::corrupt;
use crate::types::Result;

/// Refuses a file with such a dictionary in one of the `columns`, which are those of a flat schema's roots.
///
/// What else is wrong with a dictionary is told when the rows come to it.
///
/// # Errors
/// Such a dictionary.
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
                return Err(corrupt("a dictionary of more values than it holds"));
            }
        }
    }
    Ok(())
}

/// Values that a dictionary in front claims, and bytes that it has.
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
