//! Documents on stdout, written at once. Whoever reads no further (`| head -1`) has what they wanted.

use std::io::{self, ErrorKind, Write};

/// Writes all of `text`.
///
/// # Errors
/// When stdout cannot be written to, for another reason than that nobody reads it any more.
pub(super) fn write(text: &[u8]) -> io::Result<()> {
    write_to(io::stdout().lock(), text)
}

fn write_to(mut out: impl Write, text: &[u8]) -> io::Result<()> {
    match out.write_all(text).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_reader_that_has_enough_is_no_error_and_a_full_disk_is_one() {
        assert!(write_to(Broken(ErrorKind::BrokenPipe), b"text").is_ok());
        assert!(write_to(Broken(ErrorKind::StorageFull), b"text").is_err());
    }
}
