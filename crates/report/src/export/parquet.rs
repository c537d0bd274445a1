//! Trials as rows of a Parquet file: the columns of the CSV, each of its type, null where the source cannot tell.
//!
//! Whole numbers are 64-bit integers, other numbers doubles, words UTF-8.
//!
//! # References
//! - Apache Parquet: file layout, definition levels, logical types: <https://parquet.apache.org/docs/file-format/>

use super::columns::{Cell, Column, columns};
use super::trials;
use ::parquet::basic::{Compression, GzipLevel, LogicalType, Repetition, Type as Physical};
use ::parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use ::parquet::errors::Result;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use ::parquet::schema::types::Type;
use linerate_model::PacketCount;
use linerate_model::run::{Run, Trial};
use std::io::{self, Write};
use std::sync::Arc;

/// Rows that are held in memory before they are written: some megabytes.
const ROWS_PER_GROUP: usize = 10_000;

/// Writes a row for each trial of the runs and of their parts.
///
/// # Errors
///
/// If `writer` takes no more.
pub fn parquet<'a>(
    runs: impl IntoIterator<Item = &'a Run>,
    writer: impl Write + Send,
) -> io::Result<()> {
    let rows: Vec<_> = runs.into_iter().flat_map(trials).collect();
    write(&rows, writer).map_err(io::Error::other)
}

fn write(rows: &[(&Run, &Trial)], writer: impl Write + Send) -> Result<()> {
    let columns = columns();
    let fields = columns.iter().map(|column| field(column).map(Arc::new));
    let schema = Type::group_type_builder("trials").with_fields(fields.collect::<Result<_>>()?);
    // Every reader knows gzip, and so does this workspace already.
    let properties = WriterProperties::builder()
        .set_created_by(format!("linerate {}", env!("CARGO_PKG_VERSION")))
        .set_compression(Compression::GZIP(GzipLevel::default()));
    let (schema, properties) = (Arc::new(schema.build()?), Arc::new(properties.build()));
    let mut file = SerializedFileWriter::new(writer, schema, properties)?;
    for rows in rows.chunks(ROWS_PER_GROUP) {
        let mut group = file.next_row_group()?;
        for column in &columns {
            let next = group.next_column()?;
            let mut next = next.expect("invariant: the schema is of these columns");
            fill(&mut next, column.cell, rows)?;
            next.close()?;
        }
        group.close()?;
    }
    file.close()?;
    Ok(())
}

fn field(column: &Column) -> Result<Type> {
    let (physical, logical) = match column.cell {
        Cell::Flag(_) => (Physical::BOOLEAN, None),
        Cell::Integer(_) => (Physical::INT64, None),
        Cell::Quantity(quantity) if quantity.is_whole() => (Physical::INT64, None),
        Cell::Number(_) | Cell::Quantity(_) => (Physical::DOUBLE, None),
        Cell::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    Type::primitive_type_builder(&column.name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()
}

/// Writes the cells of one column.
fn fill(
    column: &mut SerializedColumnWriter<'_>,
    cell: Cell,
    rows: &[(&Run, &Trial)],
) -> Result<()> {
    let trials = rows.iter().map(|(_, trial)| *trial);
    match cell {
        Cell::Flag(of) => put::<BoolType>(column, trials.map(of)),
        Cell::Integer(of) => put::<Int64Type>(column, trials.map(|trial| of(trial).map(signed))),
        Cell::Number(of) => put::<DoubleType>(column, trials.map(of)),
        Cell::Quantity(quantity) if quantity.is_whole() => {
            let whole = |value| signed(PacketCount::from_f64(value).get());
            put::<Int64Type>(column, trials.map(|trial| quantity.of(trial).map(whole)))
        }
        Cell::Quantity(quantity) => {
            put::<DoubleType>(column, trials.map(|trial| quantity.of(trial)))
        }
        Cell::Text(of) => {
            let bytes = |text: String| ByteArray::from(text.into_bytes());
            let cells = rows.iter().map(|(run, trial)| of(run, trial).map(bytes));
            put::<ByteArrayType>(column, cells)
        }
    }
}

/// Signed, as most readers have integers; nothing that is counted reaches half of 64 bits.
fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A value where there is one, and for every row the level that says whether there is.
fn put<T: DataType>(
    column: &mut SerializedColumnWriter<'_>,
    cells: impl Iterator<Item = Option<T::T>>,
) -> Result<()> {
    let cells: Vec<_> = cells.collect();
    let levels: Vec<_> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
    let values: Vec<_> = cells.into_iter().flatten().collect();
    column
        .typed::<T>()
        .write_batch(&values, Some(&levels), None)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::tests::run;
    use ::parquet::file::reader::{FileReader as _, SerializedFileReader};
    use ::parquet::record::{Field, Row, RowAccessor as _};
    use bytes::Bytes;
    use std::collections::BTreeMap;

    fn written(run: &Run) -> Vec<u8> {
        let mut bytes = Vec::new();
        parquet([run], &mut bytes).unwrap();
        bytes
    }

    fn reader(bytes: Vec<u8>) -> SerializedFileReader<Bytes> {
        SerializedFileReader::new(Bytes::from(bytes)).unwrap()
    }

    fn fields(row: &Row) -> BTreeMap<&str, &Field> {
        let fields = row.get_column_iter();
        fields.map(|(name, field)| (name.as_str(), field)).collect()
    }

    #[test]
    fn columns_are_those_of_the_csv_each_of_its_type() {
        let reader = reader(written(&run()));
        let schema = reader.metadata().file_metadata().schema_descr_ptr();
        let names: Vec<_> = schema.columns().iter().map(|one| one.name()).collect();
        let csv = super::super::csv([&run()]);
        assert_eq!(names.join(","), csv.lines().next().unwrap());
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().collect();
        assert_eq!(rows.len(), 1);
        let row = rows[0].as_ref().unwrap();
        let fields = fields(row);
        assert_eq!(*fields["trial"], Field::Long(0));
        assert_eq!(*fields["intended_bps"], Field::Long(256_000_000));
        assert_eq!(*fields["received_bps"], Field::Long(183_000_000));
        assert_eq!(*fields["lost_packets"], Field::Long(62736));
        assert_eq!(*fields["direction"], Field::Str("forward".to_owned()));
        assert_eq!(*fields["valid"], Field::Bool(true));
        assert!(matches!(fields["loss_ratio"], Field::Double(_)));
        assert!(matches!(fields["received_bps_low"], Field::Double(_)));
        assert_eq!(
            *fields["duplicated_packets"],
            Field::Null,
            "unknown is not zero"
        );
    }

    /// What is written when the first rows are: a group holds no more than its own.
    #[test]
    fn many_trials_are_written_a_group_at_a_time_and_read_back_in_order() {
        let mut many = run();
        let mut trial = many.trials.remove(0);
        trial.intervals.clear();
        many.trials = (0..100_001)
            .map(|index| Trial {
                index,
                ..trial.clone()
            })
            .collect();
        let reader = reader(written(&many));
        assert_eq!(reader.num_row_groups(), 11);
        for at in 0..11 {
            let rows = reader.metadata().row_group(at).num_rows();
            assert_eq!(rows, if at == 10 { 1 } else { 10_000 });
        }
        let schema = reader.metadata().file_metadata().schema();
        let mut indices = schema.get_fields().iter();
        let index = indices.find(|field| field.name() == "trial").unwrap();
        let only = Type::group_type_builder("trials").with_fields(vec![index.clone()]);
        let rows = reader.get_row_iter(Some(only.build().unwrap())).unwrap();
        let read: Vec<_> = rows.map(|row| row.unwrap().get_long(0).unwrap()).collect();
        assert_eq!(read, (0..100_001).collect::<Vec<_>>());
    }

    #[test]
    fn a_run_without_trials_is_a_table_without_rows() {
        let mut none = run();
        none.trials.clear();
        let reader = reader(written(&none));
        assert_eq!(reader.metadata().file_metadata().num_rows(), 0);
    }

    #[test]
    fn a_writer_that_takes_no_more_is_an_error() {
        let mut small = [0; 100];
        let refused = parquet([&run()], small.as_mut_slice());
        assert!(refused.is_err());
    }
}
