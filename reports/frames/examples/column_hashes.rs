#![allow(clippy::print_stdout)]
//! Prints one line for each column of Parquet files: file, column, number of rows, and a hash of its values in order.
//!
//! `tools/oracle.sh` compares these lines with recorded ones, to show that renames or refactorings did not change any
//! value.

use std::fmt::Write as _;
use std::fs::File;
use std::path::PathBuf;

use healbench_core::fingerprint;
use polars::prelude::AnyValue;
use polars_io::SerReader as _;
use polars_io::parquet::read::ParquetReader;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args_os().skip(1).map(PathBuf::from) {
        let frame = ParquetReader::new(File::open(&path)?).finish()?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        for column in frame.columns() {
            let mut values = String::new();
            let series = column.as_materialized_series();
            for value in series.iter() {
                write_value(&mut values, &value);
                values.push('\n');
            }
            println!("{name}\t{}\t{}\t{}", column.name(), column.len(), &fingerprint(values.as_bytes())[..16]);
        }
    }
    Ok(())
}

/// Appends a value in a format that does not depend on how Polars displays it.
fn write_value(out: &mut String, value: &AnyValue<'_>) {
    let written = match value {
        AnyValue::Null => write!(out, "null"),
        AnyValue::Boolean(value) => write!(out, "{value}"),
        AnyValue::UInt32(value) => write!(out, "{value}"),
        AnyValue::UInt64(value) => write!(out, "{value}"),
        AnyValue::Int64(value) => write!(out, "{value}"),
        AnyValue::Float64(value) => write!(out, "{value:?}"),
        AnyValue::String(value) => write!(out, "{value:?}"),
        AnyValue::StringOwned(value) => write!(out, "{:?}", value.as_str()),
        AnyValue::List(values) => {
            out.push('[');
            for value in values.iter() {
                write_value(out, &value);
                out.push(',');
            }
            out.push(']');
            Ok(())
        }
        other => panic!("a column of the type {}", other.dtype()),
    };
    written.expect("a string takes every write");
}
