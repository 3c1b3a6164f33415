//! Who writes a service's log: a thread of its own. A stderr that takes nothing (a pipe whose reader hangs, a terminal that was
//! stopped) holds up no request and no lease.

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
            // Nobody has the other end yet: a rest.
            let _nothing = written.recv_timeout(REST);
        }
        let _in_vain = written.recv_timeout(until.saturating_duration_since(Instant::now()));
    }
}

/// A line that cannot be written is lost: to complain of it on the same stderr would be in vain.
fn write(entries: &Receiver<Entry>, lost: &AtomicU64, mut stderr: impl Write) {
    while let Ok(entry) = entries.recv() {
        match entry {
            Entry::Line(line) => drop(stderr.write_all(&line)),
            Entry::Flush(done) => drop(done.send(())),
        }
        let lines = lost.swap(0, Ordering::Relaxed);
        if lines > 0 {
            tracing::warn!(lines, "lines of this log were lost: stderr took none for a while");
        }
    }
}
