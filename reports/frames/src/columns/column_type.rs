//! The column types: appending values to a column and reading them back.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::path::Path;

use polars::chunked_array::builder::ListStringChunkedBuilder;
use polars::prelude::{
    BooleanChunkedBuilder, ChunkedArray, ChunkedBuilder, Column, DataFrame, DataType, Float64Type, Int64Type,
    IntoColumn, IntoSeries, ListBuilderTrait, PolarsError, PolarsNumericType, PrimitiveChunkedBuilder,
    StringChunkedBuilder, UInt32Type, UInt64Type,
};

use crate::frames::FrameError;

pub(crate) trait ColumnType {
    type Builder;
    type Value<'a>;

    fn data_type() -> DataType;
    fn builder(name: &'static str) -> Self::Builder;
    fn append(builder: &mut Self::Builder, value: Option<Self::Value<'_>>);
    fn finish(builder: Self::Builder) -> Column;
    fn values(column: &Column) -> Result<Vec<Option<Self::Value<'_>>>, PolarsError>;
}

/// A column type, or an `Option` of one for a nullable column.
pub(crate) trait Field {
    type Type: ColumnType;
    type Value<'a>;

    fn into_option(value: Self::Value<'_>) -> Option<<Self::Type as ColumnType>::Value<'_>>;
    /// Returns `None` for a null in a column without nulls.
    fn from_option(value: Option<<Self::Type as ColumnType>::Value<'_>>) -> Option<Self::Value<'_>>;
}

impl<T: ColumnType> Field for T {
    type Type = T;
    type Value<'a> = T::Value<'a>;

    fn into_option(value: T::Value<'_>) -> Option<T::Value<'_>> {
        Some(value)
    }

    fn from_option(value: Option<T::Value<'_>>) -> Option<T::Value<'_>> {
        value
    }
}

impl<T: ColumnType> Field for Option<T> {
    type Type = T;
    type Value<'a> = Option<T::Value<'a>>;

    fn into_option(value: Option<T::Value<'_>>) -> Option<T::Value<'_>> {
        value
    }

    fn from_option(value: Option<T::Value<'_>>) -> Option<Option<T::Value<'_>>> {
        Some(value)
    }
}

pub(crate) fn read<'a, F: Field>(
    path: &Path,
    frame: &'a DataFrame,
    column: &'static str,
) -> Result<Vec<F::Value<'a>>, FrameError> {
    let damaged = |source| FrameError::Damaged { path: path.into(), source };
    let values = F::Type::values(frame.column(column).map_err(damaged)?).map_err(damaged)?;
    let missing = |row| FrameError::Value { path: path.into(), column, row };
    values.into_iter().enumerate().map(|(row, value)| F::from_option(value).ok_or_else(|| missing(row))).collect()
}

/// Returns the type in which a column is stored. Counts have no sign in memory, but have one in files: pandas and Polars wrap around
/// where the difference of two columns without a sign is negative, and DuckDB reports an error. Hashes need all 64 bits.
pub(crate) fn stored_type(name: &str, data_type: DataType) -> DataType {
    match data_type {
        DataType::UInt32 | DataType::UInt64 if name != super::RESPONSE_HASH => DataType::Int64,
        other => other,
    }
}

pub(crate) struct Number<T>(PhantomData<T>);
pub(crate) type U64 = Number<UInt64Type>;
pub(crate) type U32 = Number<UInt32Type>;
pub(crate) type I64 = Number<Int64Type>;
pub(crate) type F64 = Number<Float64Type>;

impl<T: PolarsNumericType> ColumnType for Number<T> {
    type Builder = PrimitiveChunkedBuilder<T>;
    type Value<'a> = T::Native;

    fn data_type() -> DataType {
        T::get_static_dtype()
    }

    fn builder(name: &'static str) -> Self::Builder {
        PrimitiveChunkedBuilder::new(name.into(), 0)
    }

    fn append(builder: &mut Self::Builder, value: Option<T::Native>) {
        builder.append_option(value);
    }

    fn finish(builder: Self::Builder) -> Column {
        ChunkedBuilder::finish(builder).into_series().into_column()
    }

    fn values(column: &Column) -> Result<Vec<Option<T::Native>>, PolarsError> {
        let values: &ChunkedArray<T> = column.as_materialized_series().unpack()?;
        Ok(values.iter().collect())
    }
}

pub(crate) enum Flag {}

impl ColumnType for Flag {
    type Builder = BooleanChunkedBuilder;
    type Value<'a> = bool;

    fn data_type() -> DataType {
        DataType::Boolean
    }

    fn builder(name: &'static str) -> Self::Builder {
        BooleanChunkedBuilder::new(name.into(), 0)
    }

    fn append(builder: &mut Self::Builder, value: Option<bool>) {
        builder.append_option(value);
    }

    fn finish(builder: Self::Builder) -> Column {
        builder.finish().into_column()
    }

    fn values(column: &Column) -> Result<Vec<Option<bool>>, PolarsError> {
        Ok(column.bool()?.iter().collect())
    }
}

pub(crate) enum Text {}

impl ColumnType for Text {
    type Builder = StringChunkedBuilder;
    type Value<'a> = &'a str;

    fn data_type() -> DataType {
        DataType::String
    }

    fn builder(name: &'static str) -> Self::Builder {
        StringChunkedBuilder::new(name.into(), 0)
    }

    fn append(builder: &mut Self::Builder, value: Option<&str>) {
        builder.append_option(value);
    }

    fn finish(builder: Self::Builder) -> Column {
        builder.finish().into_column()
    }

    fn values(column: &Column) -> Result<Vec<Option<&str>>, PolarsError> {
        Ok(column.str()?.iter().collect())
    }
}

pub(crate) enum Texts {}

impl ColumnType for Texts {
    type Builder = ListStringChunkedBuilder;
    type Value<'a> = Cow<'a, [String]>;

    fn data_type() -> DataType {
        DataType::List(Box::new(DataType::String))
    }

    fn builder(name: &'static str) -> Self::Builder {
        ListStringChunkedBuilder::new(name.into(), 0, 0)
    }

    fn append(builder: &mut Self::Builder, value: Option<Cow<'_, [String]>>) {
        match value {
            Some(values) => builder.append_values_iter(values.iter().map(String::as_str)),
            None => builder.append_null(),
        }
    }

    fn finish(mut builder: Self::Builder) -> Column {
        builder.finish().into_column()
    }

    fn values(column: &Column) -> Result<Vec<Option<Cow<'_, [String]>>>, PolarsError> {
        let lists = column.list()?;
        let list = |row| {
            let Some(list) = lists.get_as_series(row) else { return Ok(None) };
            let words = list.str()?.iter().map(|word| word.map(str::to_owned)).collect::<Option<Vec<String>>>();
            let null = || PolarsError::ComputeError(format!("row {row}: a list holds a null").into());
            Ok(Some(Cow::Owned(words.ok_or_else(null)?)))
        };
        (0..lists.len()).map(list).collect()
    }
}
