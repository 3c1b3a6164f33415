//! What commands print on stdout: a full disk is an error, a closed pipe is not.

use std::{
    fmt::{Arguments, Display},
    future::pending,
    io::{self, ErrorKind, Write},
    os::fd::AsFd,
};

use anyhow::Context;
use tokio::{io::Interest, net::unix::pipe::Sender};

/// Says a line on stdout, as `println!` would, and answers an error where that would panic.
macro_rules! say {
    ($($words:tt)*) => { $crate::commands::stdout::line(format_args!($($words)*)) };
}

pub(crate) use say;

/// Answers a command whose result is a sentence: in words, or as one JSON document.
macro_rules! reply {
    ($as_json:expr, $document:tt, $($words:tt)+) => {
        match $as_json {
            true => $crate::commands::table::print_json(&serde_json::json!($document)),
            false => $crate::commands::stdout::say!($($words)+),
        }
    };
}

pub(crate) use reply;

/// Writes words and the end of a line at once, without colours where none are wanted. [`say`] writes them down.
pub(crate) fn line(words: Arguments<'_>) -> anyhow::Result<()> {
    write_to(anstream::stdout().lock(), format!("{words}\n").as_bytes()).context("writing to stdout")
}

/// A text that others chose, for a line of words: what would move the cursor, colour what follows or begin a line of its
/// own is shown as U+FFFD. JSON escapes it by itself.
pub(super) fn plain(text: impl Display) -> String {
    text.to_string().replace(char::is_control, "\u{fffd}")
}

/// Writes all of a document, as it is.
pub(super) fn write(text: &[u8]) -> io::Result<()> {
    write_to(io::stdout().lock(), text)
}

/// Waits until stdout is closed, for what would go on for ever. A file is never closed, and neither is what cannot
/// report it.
pub(super) async fn unread() {
    let pipe = io::stdout().as_fd().try_clone_to_owned().and_then(Sender::from_owned_fd_unchecked);
    match pipe {
        // Nothing is sent through it: it is asked for its end alone.
        Ok(pipe) if pipe.ready(Interest::ERROR).await.is_ok() => {}
        _ => pending().await,
    }
}

/// A closed pipe (`| head -1`) is no error.
fn write_to(mut out: impl Write, text: &[u8]) -> io::Result<()> {
    match out.write_all(text).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stdout_escapes_control_characters_of_user_text() {
        assert_eq!(plain("a\u{1b}[2Jb\rc\nd\u{9b}e"), "a\u{fffd}[2Jb\u{fffd}c\u{fffd}d\u{fffd}e");
        assert_eq!(plain("Zoë → 東京 🙂"), "Zoë → 東京 🙂");
    }

    struct Broken(ErrorKind);

    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn stdout_closed_pipe_is_no_error_and_a_full_disk_is_one() {
        assert!(write_to(Broken(ErrorKind::BrokenPipe), b"text").is_ok());
        assert!(write_to(Broken(ErrorKind::StorageFull), b"text").is_err());
    }
}
