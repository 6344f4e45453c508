//! Where the contract's columns stand in a record batch.
//!
//! A batch's header lists a node and some buffers for each column, nested ones among them, in the
//! schema's order and without names; which are ours follows from the types in front of them.

use std::sync::Arc;

use arrow_ipc::{Field, MetadataVersion, Schema, Type as IpcType, UnionMode};

use super::corrupt;
use crate::format::columnar::{Number, Options, Places, Type};
use crate::types::Result;

/// Which parts of a record batch are the contract's columns; shared by all threads that decode.
#[derive(Debug, Clone)]
pub(super) struct Columns(pub(super) Arc<Layout>);

#[derive(Debug)]
pub(super) struct Layout {
    pub(super) tx_time: (Place, Number),
    pub(super) decode_delay: (Place, Number),
    pub(super) attempts: Option<Place>,
}

/// Where a column's parts stand in the header of a batch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) node: usize,
    /// First buffer, without those that depend on the batch.
    pub(super) buffer: usize,
    /// Columns in front whose number of buffers each batch tells on its own.
    pub(super) variadic: usize,
}

impl Columns {
    /// Finds the columns in a schema.
    ///
    /// # Errors
    /// As [`Places::find`]; a type that the format does not know.
    pub(super) fn find(
        schema: Schema<'_>,
        version: MetadataVersion,
        options: Options,
    ) -> Result<Self> {
        let fields = schema
            .fields()
            .ok_or_else(|| corrupt("a schema without fields"))?;
        let mut columns = Vec::with_capacity(fields.len());
        let mut places = Vec::with_capacity(fields.len());
        let mut next = Place::default();
        for field in fields {
            let name = field.name().unwrap_or_default().to_owned();
            columns.push((name, column_type(&field)));
            places.push(next);
            next.pass(&field, version)?;
        }
        let found = Places::find(columns, options)?;
        let place = |(at, number): (usize, Number)| (places[at], number);
        Ok(Self(Arc::new(Layout {
            tx_time: place(found.tx_time),
            decode_delay: place(found.decode_delay),
            attempts: found.attempts.map(|at| places[at]),
        })))
    }
}

impl Place {
    /// Moves behind the parts of `field`, its children's included.
    fn pass(&mut self, field: &Field<'_>, version: MetadataVersion) -> Result<()> {
        self.node += 1;
        if field.dictionary().is_some() {
            // Validity and indices; the values are in messages of their own.
            self.buffer += 2;
            return Ok(());
        }
        self.buffer += match field.type_type() {
            IpcType::Null | IpcType::RunEndEncoded => 0,
            IpcType::Struct_ | IpcType::FixedSizeList => 1,
            IpcType::Int
            | IpcType::FloatingPoint
            | IpcType::Bool
            | IpcType::Decimal
            | IpcType::Date
            | IpcType::Time
            | IpcType::Timestamp
            | IpcType::Interval
            | IpcType::Duration
            | IpcType::FixedSizeBinary
            | IpcType::List
            | IpcType::LargeList
            | IpcType::Map => 2,
            IpcType::Binary
            | IpcType::Utf8
            | IpcType::LargeBinary
            | IpcType::LargeUtf8
            | IpcType::ListView
            | IpcType::LargeListView => 3,
            IpcType::BinaryView | IpcType::Utf8View => {
                self.variadic += 1;
                2
            }
            IpcType::Union => {
                let is_dense = field
                    .type_as_union()
                    .is_some_and(|union| union.mode() == UnionMode::Dense);
                1 + usize::from(is_dense) + usize::from(version < MetadataVersion::V5)
            }
            other => return Err(corrupt(format!("a column of the unknown type {}", other.0))),
        };
        for child in field.children().into_iter().flatten() {
            self.pass(&child, version)?;
        }
        Ok(())
    }
}

fn column_type(field: &Field<'_>) -> Type {
    if field.dictionary().is_some() {
        return Type::Other("a dictionary's indices".to_owned());
    }
    if let Some(int) = field.type_as_int() {
        return match (int.bitWidth(), int.is_signed()) {
            (64, true) => Type::Int64,
            (32, false) => Type::Uint32,
            (bits, true) => Type::Other(format!("int{bits}")),
            (bits, false) => Type::Other(format!("uint{bits}")),
        };
    }
    if let Some(float) = field.type_as_floating_point() {
        return match float.precision() {
            arrow_ipc::Precision::DOUBLE => Type::Float64,
            arrow_ipc::Precision::SINGLE => Type::Other("float".to_owned()),
            _ => Type::Other("halffloat".to_owned()),
        };
    }
    let name = field
        .type_type()
        .variant_name()
        .unwrap_or("an unknown type");
    Type::Other(name.trim_end_matches('_').to_lowercase())
}
