//! Rows from a Parquet file.

use ::parquet::file::reader::ChunkReader;
use arrow_array::cast::AsArray as _;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int64Type, UInt32Type};
use arrow_array::{Array as _, ArrayRef, PrimitiveArray, RecordBatch};
use arrow_schema::DataType;

use super::corrupt;
use super::open::{Batches, Opened};
use crate::format::columnar::{
    self, Column, CountValues, Counts, Next, Number, Options, Places, Source, Times, Type, head,
};
use crate::types::{EndLine, Metadata, Result, Slot};

/// Rows decoded at a time.
const BATCH: usize = 1 << 15;

/// A Parquet file that is read batch by batch, in the memory of a few pages.
pub struct Reader {
    batches: Batches,
    metadata: Metadata,
    end: Option<EndLine>,
    /// Where the contract's columns stand among those that are read.
    places: Places,
    rows: u64,
}

/// Some rows of a file: to be filled by [`Reader::next_batch`], again and again.
#[derive(Debug, Clone, Default)]
pub struct Batch(Option<(RecordBatch, Places)>);

impl Reader {
    /// Opens `input` and reads its footer.
    ///
    /// # Errors
    /// A file that is cut or damaged; no columns of the contract, or with other types; what the system says.
    pub fn new<T: ChunkReader + 'static>(input: T, options: Options) -> Result<Self> {
        let opened = Opened::new(input)?;
        let fields = opened.schema().fields().iter();
        let columns = fields.map(|field| (field.name().clone(), column_type(field.data_type())));
        let mut places = Places::find(columns.collect(), options)?;
        let (metadata, end) = head::read(opened.pairs())?;
        let mut wanted = vec![places.tx_time.0, places.decode_delay.0];
        wanted.extend(places.attempts);
        // Columns are handed over in the file's order, whatever the order in which they were asked for.
        wanted.sort_unstable();
        let among = |at: usize| wanted.partition_point(|&other| other < at);
        places.tx_time.0 = among(places.tx_time.0);
        places.decode_delay.0 = among(places.decode_delay.0);
        places.attempts = places.attempts.map(among);
        Ok(Self {
            batches: opened.batches(&wanted, BATCH)?,
            metadata,
            end,
            places,
            rows: 0,
        })
    }
}

impl Source for Reader {
    const FORMAT: &'static str = super::FORMAT;

    type Batch = Batch;

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn end(&self) -> Option<EndLine> {
        self.end
    }

    fn rows(&self) -> u64 {
        self.rows
    }

    fn next_batch(&mut self, batch: &mut Batch) -> Result<Next> {
        loop {
            match self.batches.next()? {
                None => return columnar::finish(self, Next::End),
                Some(records) if records.num_rows() == 0 => {}
                Some(records) => {
                    self.rows += records.num_rows() as u64;
                    batch.0 = Some((records, self.places));
                    return Ok(Next::Batch);
                }
            }
        }
    }
}

impl columnar::Batch for Batch {
    fn rows(&self) -> u64 {
        let rows = self.0.as_ref().map(|(records, _)| records.num_rows());
        rows.unwrap_or(0) as u64
    }

    fn append(&self, slots: &mut Vec<Slot>, attempts: &mut Vec<u32>) -> Result<()> {
        let Some((records, places)) = &self.0 else {
            return Ok(());
        };
        let tx_time = times(records, places.tx_time)?;
        let delay = times(records, places.decode_delay)?;
        let counts = places.attempts.map(|at| counts(records, at)).transpose()?;
        let rows = records.num_rows();
        columnar::append([&tx_time, &delay], counts.as_ref(), rows, slots, attempts)
    }
}

fn column_type(found: &DataType) -> Type {
    match found {
        DataType::Int64 => Type::Int64,
        DataType::Float64 => Type::Float64,
        DataType::UInt32 => Type::Uint32,
        other => Type::Other(other.to_string().to_lowercase()),
    }
}

/// A column of the batch, of the type that the schema has told.
fn array<T: ArrowPrimitiveType>(records: &RecordBatch, at: usize) -> Result<&PrimitiveArray<T>> {
    let array = records.columns().get(at);
    array
        .ok_or_else(|| corrupt("a batch with fewer columns than the schema"))?
        .as_primitive_opt()
        .ok_or_else(|| corrupt("a column of another type than the schema tells"))
}

fn times(records: &RecordBatch, (at, number): (usize, Number)) -> Result<Column<'_>> {
    let times: &[i64] = match number {
        Number::Integer => array::<Int64Type>(records, at)?.values(),
        Number::Double(_) => {
            let doubles = array::<Float64Type>(records, at)?.values();
            doubles.inner().typed_data()
        }
    };
    Ok(Column {
        times: Times::Integers(times),
        number,
        null: first_null(records.column(at)),
    })
}

fn counts(records: &RecordBatch, at: usize) -> Result<Counts<'_>> {
    Ok(Counts {
        values: CountValues::Integers(array::<UInt32Type>(records, at)?.values()),
        null: first_null(records.column(at)),
    })
}

fn first_null(array: &ArrayRef) -> Option<usize> {
    if array.null_count() == 0 {
        return None;
    }
    (0..array.len()).find(|&row| array.is_null(row))
}
