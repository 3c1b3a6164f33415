//! What commands note on stderr. Where it cannot be written to (closed, or a full disk), the note is left out, and the command
//! ends with the code that it has anyway.

use std::{fmt::Arguments, io::Write};

/// Notes a line on stderr, as `eprintln!` would, and goes on where that would panic.
macro_rules! note {
    ($($words:tt)*) => { $crate::commands::stderr::line(format_args!($($words)*)) };
}

pub(crate) use note;

/// Writes words and the end of a line at once, without colours where none are wanted. [`note`] writes them down.
pub(crate) fn line(words: Arguments<'_>) {
    let _ = anstream::stderr().lock().write_all(format!("{words}\n").as_bytes());
}
