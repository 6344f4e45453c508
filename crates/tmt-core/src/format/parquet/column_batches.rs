//! Reads all columns of a Parquet file, regardless of their types.

use ::parquet::file::reader::ChunkReader;
use arrow_array::ArrayRef;

use super::open::{Batches, Opened};
use crate::types::Result;

/// The columns of a file, batch by batch.
pub(crate) struct ColumnBatches {
    names: Vec<String>,
    pairs: Vec<(String, String)>,
    batches: Batches,
}

impl ColumnBatches {
    /// Opens `input`; batches have at most `rows` rows.
    ///
    /// # Errors
    /// A cut or damaged file, or an I/O error.
    pub(crate) fn new<T: ChunkReader + 'static>(input: T, rows: usize) -> Result<Self> {
        let opened = Opened::new(input)?;
        let fields = opened.schema().fields();
        let names: Vec<String> = fields.iter().map(|field| field.name().clone()).collect();
        let pairs = opened.pairs();
        let pairs = pairs.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let pairs = pairs.collect();
        let all: Vec<usize> = (0..names.len()).collect();
        let batches = opened.batches(&all, rows)?;
        Ok(Self {
            names,
            pairs,
            batches,
        })
    }

    /// The number of rows that the footer states.
    pub(crate) fn rows(&self) -> u64 {
        self.batches.stated()
    }

    /// The key-value pairs of the footer.
    pub(crate) fn pairs(&self) -> &[(String, String)] {
        &self.pairs
    }

    /// Names of the columns.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// The next batch: the array of each column; `None` at the end.
    ///
    /// # Errors
    /// The file is damaged.
    pub(crate) fn next(&mut self) -> Result<Option<Vec<ArrayRef>>> {
        let batch = self.batches.next()?;
        Ok(batch.map(|batch| batch.columns().to_vec()))
    }
}
