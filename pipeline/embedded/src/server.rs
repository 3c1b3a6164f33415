//! Joins the server, and starts it where none runs.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Child;
use tokio::time::{Instant, sleep};

use crate::home::{Home, PORT};
use crate::join::{self, Attempt};
use crate::owner::Owner;
use crate::places::Places;
use crate::programs::Programs;
use crate::{Cluster, Error, Running, choose, initdb, stale};

/// How long a server may take to become ready: recovery after a crash, or the orphans of a server
/// that was killed, which keep its shared memory until their statements end.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a server without a free connection is asked again.
const PATIENCE_WITH_FULL: Duration = Duration::from_secs(5);

/// A log that has grown beyond this is set aside at the next start.
const LOG_MAX: u64 = 8 << 20;

/// Joins the cluster's server, or starts one.
pub(crate) async fn ensure(cluster: &Cluster, places: &Places, notice: fn(&str)) -> Result<Running, Error> {
    let home = Home::prepare(&cluster.dir, &Owner::for_this_process()?)?;
    let _one_starter_at_a_time = home.lock().await?;
    let mut start = Start { home: &home, cluster, programs: None, server: None, made_anew: false };
    let mut since = Instant::now();
    loop {
        match join::attempt(&home, cluster).await? {
            Attempt::Joined(running) => return Ok(*running),
            Attempt::Full if since.elapsed() > PATIENCE_WITH_FULL => return Err(Error::Full(home.dir)),
            Attempt::Full | Attempt::Busy => {}
            Attempt::Absent if start.programs.is_none() => {
                start.programs = Some(choose::choose(&home, places, notice).await?);
                // Fetching may have taken minutes; the server's time begins here.
                since = Instant::now();
                continue;
            }
            Attempt::Absent => start.go_on().await?,
        }
        if since.elapsed() > PATIENCE {
            return Err(Error::Timeout { seconds: PATIENCE.as_secs(), log: home.log() });
        }
        sleep(Duration::from_millis(10)).await;
    }
}

/// A start in progress.
struct Start<'a> {
    home: &'a Home,
    cluster: &'a Cluster,
    programs: Option<Programs>,
    server: Option<Server>,
    /// Whether the data were thrown away already because the server did not start with them.
    made_anew: bool,
}

/// A server that was started and is not ready yet. Dropped, it goes on: it has no parent process.
struct Server {
    process: Child,
    /// Where in the log its words begin.
    log_from: u64,
}

impl Start<'_> {
    /// The next thing to do while no server listens on the socket.
    async fn go_on(&mut self) -> Result<(), Error> {
        let ended = match &mut self.server {
            None => return self.spawn_unless_there().await,
            Some(server) => server.process.try_wait(),
        };
        let Some(status) = ended.map_err(Error::io("wait for the server in", &self.home.dir))? else {
            return Ok(());
        };
        let said =
            self.server.take().map(|server| said_since(self.home, server.log_from)).unwrap_or_default();
        if !an_orphan_is_in_the_way(&said) && !self.throw_away_the_data()? {
            return Err(Error::Start { status, log: self.home.log() });
        }
        sleep(Duration::from_millis(200)).await;
        Ok(())
    }

    /// Data that need not last, and that a power cut may have damaged, are made anew, once.
    fn throw_away_the_data(&mut self) -> Result<bool, Error> {
        let Some(programs) = self.programs.as_ref().filter(|_| !self.cluster.durable && !self.made_anew)
        else {
            return Ok(false);
        };
        let data = self.home.data(programs.major);
        fs::remove_dir_all(&data).map_err(Error::io("remove", &data))?;
        self.made_anew = true;
        Ok(true)
    }

    /// Starts the server, unless one that another process started is on its way up or down.
    async fn spawn_unless_there(&mut self) -> Result<(), Error> {
        let Some(programs) = &self.programs else { return Ok(()) };
        if stale::server_is_there(self.home).await? {
            return Ok(());
        }
        initdb::ensure(self.home, programs, self.cluster.durable).await?;
        self.server = Some(spawn(self.home, self.cluster, programs)?);
        Ok(())
    }
}

/// Starts the server in a process group of its own, so that an interrupt typed at this process does
/// not reach it.
fn spawn(home: &Home, cluster: &Cluster, programs: &Programs) -> Result<Server, Error> {
    set_aside_a_long_log(home)?;
    let log = initdb::open_log(home)?;
    let log_from = log.metadata().map_err(Error::io("look at", &home.log()))?.len();
    let data = home.data(programs.major);
    let mut command = home.owner.command(&programs.postgres());
    command.arg("-D").arg(&data).arg("-k").arg(&home.socket_dir);
    for setting in settings(cluster.durable) {
        command.args(["-c", &setting]);
    }
    let errors = log.try_clone().map_err(Error::io("open", &home.log()))?;
    command.current_dir(&data).stdin(Stdio::null()).stdout(log).stderr(errors).process_group(0);
    let process = command.spawn().map_err(Error::io("run", &programs.postgres()))?;
    tracing::info!(data = %data.display(), programs = %programs.bin_dir.display(), "PostgreSQL was started");
    Ok(Server { process, log_from })
}

/// The log must not repeat what people said: `terse` leaves out the details of a violated constraint
/// (the row), and statements that fail are not written.
fn settings(durable: bool) -> Vec<String> {
    let mut settings = vec![
        "listen_addresses=".to_owned(),
        format!("port={PORT}"),
        "unix_socket_permissions=0700".to_owned(),
        // One that need not last is shared by tests, whose many processes have a dozen sessions each.
        format!("max_connections={}", if durable { 200 } else { 600 }),
        "timezone=UTC".to_owned(),
        "log_timezone=UTC".to_owned(),
        "logging_collector=off".to_owned(),
        "log_error_verbosity=terse".to_owned(),
        "log_min_error_statement=panic".to_owned(),
    ];
    if !durable {
        // Nor does anybody sweep or sample behind the backs of those who count what a statement touched.
        let careless = ["fsync=off", "synchronous_commit=off", "full_page_writes=off", "autovacuum=off"];
        settings.extend(careless.map(str::to_owned));
        settings.push("max_wal_size=256MB".to_owned());
    }
    settings
}

fn set_aside_a_long_log(home: &Home) -> Result<(), Error> {
    let log = home.log();
    if fs::metadata(&log).is_ok_and(|found| found.len() > LOG_MAX) {
        fs::rename(&log, home.dir.join("server.log.old")).map_err(Error::io("rename", &log))?;
    }
    Ok(())
}

/// What the log has got since it was `from` bytes long.
fn said_since(home: &Home, from: u64) -> String {
    let log = fs::read(home.log()).unwrap_or_default();
    let from = usize::try_from(from).unwrap_or(usize::MAX).min(log.len());
    String::from_utf8_lossy(&log[from..]).into_owned()
}

/// After `kill -9` of a server, a session of it that is busy lives on until its statement ends, and
/// the next server refuses to start beside it. That passes by itself.
fn an_orphan_is_in_the_way(said: &str) -> bool {
    said.contains("pre-existing shared memory block") || said.contains("lock file \"")
}
