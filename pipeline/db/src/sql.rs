//! A statement of the crate's folder `sql/` with its parameters, as sqlx's `query_file!` takes them. What a statement says is
//! checked by a test, which prepares all of them on the migrated schema.

/// The text of a file in the crate's folder `sql/`.
#[macro_export]
macro_rules! sql {
    ($file:literal) => {
        ::core::include_str!(::core::concat!(::core::env!("CARGO_MANIFEST_DIR"), "/sql/", $file))
    };
}

/// A statement whose rows are not read.
#[macro_export]
macro_rules! query {
    ($file:literal $(, $parameter:expr)* $(,)?) => {
        ::sqlx::query($crate::sql!($file))$(.bind($parameter))*
    };
}

/// A statement whose rows are read by their columns' names (`FromRow`).
#[macro_export]
macro_rules! query_as {
    ($file:literal $(, $parameter:expr)* $(,)?) => {
        ::sqlx::query_as($crate::sql!($file))$(.bind($parameter))*
    };
}

/// A statement whose rows have one column.
#[macro_export]
macro_rules! query_scalar {
    ($file:literal $(, $parameter:expr)* $(,)?) => {
        ::sqlx::query_scalar($crate::sql!($file))$(.bind($parameter))*
    };
}

/// A value of each row, as a parameter that a statement unnests.
pub fn array<'r, R, V>(rows: &'r [R], value: impl Fn(&'r R) -> V) -> Vec<V> {
    rows.iter().map(value).collect()
}
