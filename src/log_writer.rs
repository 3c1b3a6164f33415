//! Who writes a service's log: a thread of its own. A stderr that takes nothing (a pipe whose reader hangs, a terminal that was
//! stopped) holds up no request and no lease. `tracing-appender` leaves it to others to say in the log what was lost, complains on stdout,
//! which belongs to `--json`, where the queue is full at the end, and brings four crates more.

use std::{
    io::{self, Write},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel},
    },
    thread,
    time::{Duration, Instant},
};

use tracing_subscriber::fmt::MakeWriter;

/// How many lines wait for stderr; those that come then are lost.
const WAITING: usize = 4_096;

/// How long the process waits at its end for what was logged.
const FLUSHING: Duration = Duration::from_secs(1);

/// Between two tries to find a place among the lines that wait.
const REST: Duration = Duration::from_millis(10);

enum Entry {
    Line(Vec<u8>),
    /// To be answered when all lines before it are written.
    Flush(Sender<()>),
}

/// Takes lines and never waits. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct LogWriter {
    entries: SyncSender<Entry>,
    lost: Arc<AtomicU64>,
}

/// Dropped, it waits for what was logged.
#[derive(Debug)]
pub(crate) struct FlushAtEnd(LogWriter);

impl LogWriter {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(crate) fn start() -> io::Result<(Self, FlushAtEnd)> {
        let (entries, taken) = sync_channel(WAITING);
        let log = Self { entries, lost: Arc::default() };
        let lost = Arc::clone(&log.lost);
        thread::Builder::new().name("log".to_owned()).spawn(move || write(&taken, &lost, io::stderr()))?;
        Ok((log.clone(), FlushAtEnd(log)))
    }
}

impl Write for LogWriter {
    /// A line at once, as it is formatted.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.entries.try_send(Entry::Line(line.to_vec())).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for LogWriter {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Drop for FlushAtEnd {
    fn drop(&mut self) {
        let until = Instant::now() + FLUSHING;
        let (done, written) = channel();
        let mut flush = Entry::Flush(done);
        while let Err(TrySendError::Full(again)) = self.0.entries.try_send(flush) {
            if Instant::now() >= until {
                return;
            }
            flush = again;
            // The queue is full: waits before the next try. Nothing arrives here until the entry is queued.
            let _nothing = written.recv_timeout(REST);
        }
        let _in_vain = written.recv_timeout(until.saturating_duration_since(Instant::now()));
    }
}

fn write(entries: &Receiver<Entry>, lost: &AtomicU64, mut stderr: impl Write) {
    while let Ok(first) = entries.recv() {
        write_waiting(first, entries, lost, &mut stderr);
    }
}

/// Writes what waits, and then how many lines found no place: there is one for that now. A line that cannot be written is
/// lost: to complain of it on the same stderr would be in vain.
fn write_waiting(first: Entry, entries: &Receiver<Entry>, lost: &AtomicU64, stderr: &mut impl Write) {
    let mut next = Some(first);
    while let Some(entry) = next {
        match entry {
            Entry::Line(line) => drop(stderr.write_all(&line)),
            Entry::Flush(done) => drop(done.send(())),
        }
        next = entries.try_recv().ok();
    }
    let lines = lost.swap(0, Ordering::Relaxed);
    if lines > 0 {
        tracing::warn!(lines, "lines of this log were lost: stderr took none for a while");
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

    use super::*;

    #[test]
    fn log_says_how_many_lines_were_lost_while_nobody_read_it() {
        let (entries, taken) = sync_channel(WAITING);
        let mut log = LogWriter { entries, lost: Arc::default() };
        for _ in 0..WAITING + 3 {
            log.write_all(b"a line\n").unwrap();
        }
        let (lost, mut written) = (Arc::clone(&log.lost), Vec::new());
        let subscriber = tracing_subscriber::fmt().with_writer(log).with_ansi(false).finish();
        tracing::subscriber::with_default(subscriber, || {
            for _ in 0..2 {
                write_waiting(taken.recv().unwrap(), &taken, &lost, &mut written);
            }
        });
        let written = String::from_utf8(written).unwrap();
        let (lines, notice) = written.trim_end().rsplit_once('\n').unwrap();
        assert_eq!(lines.lines().count(), WAITING);
        assert!(notice.contains("were lost") && notice.ends_with("lines=3"), "{notice}");
    }
}
