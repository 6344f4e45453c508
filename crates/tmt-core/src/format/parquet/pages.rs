//! Refuses pages that claim more than they contain, or other rows than the footer.
//!
//! The `parquet` crate allocates memory for the number of values that the header of a dictionary claims, before it
//! checks that they exist: a flipped bit can cost gigabytes. It also ends a column after the rows of the footer or after
//! the last page, whichever comes first, without a word about the rest. So this module checks first, from the headers
//! of the pages. If a column chunk has a dictionary, it begins with it.

use std::sync::Arc;

use ::parquet::basic::{Compression, Type as Physical};
use ::parquet::column::page::{Page, PageReader as _};
use ::parquet::errors::Result as ParquetResult;
use ::parquet::file::metadata::ParquetMetaData;
use ::parquet::file::reader::ChunkReader;
use ::parquet::file::serialized_reader::SerializedPageReader;

use super::corrupt;
use crate::types::{Error, ErrorKind, Result};

/// Checks the pages of the `columns`, given as root indices of a flat schema.
///
/// Other errors of a page are reported when the rows are read.
///
/// # Errors
/// A column is compressed with a method that is not supported, a dictionary claims more values than it contains, or a
/// column has more or fewer rows than its row group.
pub(super) fn check<T: ChunkReader + 'static>(
    input: &Arc<T>,
    metadata: &ParquetMetaData,
    columns: &[usize],
) -> Result<()> {
    let schema = metadata.file_metadata().schema_descr();
    for group in metadata.row_groups() {
        for (leaf, column) in group.columns().iter().enumerate() {
            if !columns.contains(&schema.get_column_root_idx(leaf)) {
                continue;
            }
            let unsupported = match column.compression() {
                Compression::BROTLI(_) => Some("Brotli"),
                Compression::LZO => Some("LZO"),
                _ => None,
            };
            if let Some(method) = unsupported {
                return Err(Error::new(ErrorKind::format(
                    format!("a Parquet column compressed with {method}"),
                    "Snappy, gzip, LZ4, zstd or no compression",
                )));
            }
            let rows = usize::try_from(group.num_rows()).unwrap_or(usize::MAX);
            let found = SerializedPageReader::new(Arc::clone(input), column, rows, None)
                .and_then(|pages| Claims::of(pages));
            let Ok(found) = found else { continue };
            let width = match column.column_type() {
                Physical::INT32 => 4,
                Physical::INT64 | Physical::DOUBLE => 8,
                // Timestamps of old writers.
                Physical::INT96 => 12,
                _ => 0,
            };
            let (values, bytes) = found.dictionary;
            if values.saturating_mul(width) > bytes {
                return Err(corrupt(
                    "a dictionary that claims more values than it contains",
                ));
            }
            // A row of a list has a level for each value, and one if it has none.
            let is_list = column.column_descr().max_rep_level() > 0;
            if found.levels != rows && !(is_list && found.levels > rows) {
                return Err(corrupt(format!(
                    "pages with {} rows, although the footer states {rows}",
                    found.levels
                )));
            }
        }
    }
    Ok(())
}

/// Claims of the headers of a column's pages.
#[derive(Default)]
struct Claims {
    /// Number of values of the dictionary, and its bytes.
    dictionary: (usize, usize),
    levels: usize,
}

impl Claims {
    fn of<T: ChunkReader + 'static>(mut pages: SerializedPageReader<T>) -> ParquetResult<Self> {
        let mut claims = Self::default();
        while let Some(page) = pages.peek_next_page()? {
            // In a flat column each row has one level.
            let levels = page.num_levels.unwrap_or(0);
            claims.levels = claims.levels.saturating_add(levels);
            if page.is_dict && claims.levels == 0 {
                if let Some(Page::DictionaryPage {
                    buf, num_values, ..
                }) = pages.get_next_page()?
                {
                    claims.dictionary = (num_values as usize, buf.len());
                }
            } else {
                pages.skip_next_page()?;
            }
        }
        Ok(claims)
    }
}
