//! Reads the rows of a trace from a Parquet file.

use std::sync::Arc;

use ::parquet::file::reader::ChunkReader;

use super::FORMAT;
use super::open::Opened;
use crate::format::columnar::{Item, Layout, Options, Source, head};
use crate::types::Result;

/// Rows decoded at a time.
const BATCH: usize = 1 << 15;

/// Opens a Parquet file and reads its footer. The rows are read batch by batch, in the memory of a few pages.
///
/// # Errors
/// A cut or damaged file, missing columns or unsupported types, or an I/O error.
pub fn open<T: ChunkReader + 'static>(input: T, options: &Options) -> Result<Source<'static>> {
    let opened = Opened::new(input)?;
    let layout = Layout::of(opened.schema(), options)?;
    let (metadata, end) = head::read(opened.pairs())?;
    let mut batches = opened.batches(&layout.indices(), BATCH)?;
    let items = move || {
        let next = batches.next()?;
        Ok(next.map_or(Item::End, |records| Item::Rows(records, None)))
    };
    Ok(Source {
        format: FORMAT,
        has_end_line: true,
        metadata,
        end,
        layout: Arc::new(layout),
        zero: None,
        rows: 0,
        items: Box::new(items),
    })
}
