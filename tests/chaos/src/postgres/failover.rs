//! A synchronous standby that takes the primary's place.

use std::fs;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::time::sleep;

use super::Postgres;

/// Where a standby listens until it is the primary.
const ASIDE: &str = "aside";

impl Postgres {
    /// Makes a synchronous standby of the server under load, lets both work for as long as `beside`, kills the primary as a
    /// machine that loses its power, and promotes the standby, which takes over the address.
    pub(crate) async fn fail_over(&self, beside: Duration) {
        let (before, name) = (self.data(), format!("data{}", fresh()));
        let after = self.home.join(&name).display().to_string();
        let socket = self.home.join("socket").display().to_string();
        self.run(
            "pg_basebackup",
            &["-h", &socket, "-U", "postgres", "-D", &after, "-X", "stream", "-c", "fast", "--no-sync"],
        )
        .await;
        self.make_standby(&after, &socket);
        self.start_in(&after, ASIDE).await;
        self.say("alter system set synchronous_standby_names = 'standby'").await;
        self.say("select pg_reload_conf()").await;
        while !self.is_synchronous().await {
            sleep(Duration::from_millis(50)).await;
        }
        sleep(beside).await;
        kill(&before);
        self.run("pg_ctl", &["-D", &after, "-w", "-t", "60", "promote"]).await;
        // It moves to the address that its clients know.
        self.run("pg_ctl", &["-D", &after, "-w", "-t", "60", "-m", "fast", "stop"]).await;
        // The dead primary left its socket and lock file; until its death is noticed, they would make it look alive.
        for left in [".s.PGSQL.5432", ".s.PGSQL.5432.lock"] {
            let _may_be_gone = fs::remove_file(self.home.join("socket").join(left));
        }
        *self.primary.lock() = name;
        self.start().await;
        let _best_effort = fs::remove_dir_all(before);
    }

    /// A copy of the primary follows it, and waits for no standby itself.
    fn make_standby(&self, data: &str, primary: &str) {
        let aside = self.home.join(ASIDE);
        fs::create_dir_all(&aside).expect("a directory can be made");
        let path = format!("{data}/postgresql.auto.conf");
        let settings = fs::read_to_string(&path).expect("the copy has settings");
        let follows = format!(
            "primary_conninfo = 'host={primary} user=postgres application_name=standby'\nsynchronous_standby_names = ''\n"
        );
        fs::write(&path, settings + &follows).expect("settings can be written");
        let signal = format!("{data}/standby.signal");
        fs::write(&signal, "").expect("the signal can be given");
        self.programs.give(&aside);
        self.programs.give(signal.as_ref());
    }

    async fn say(&self, statement: &'static str) {
        let mut session = self.session().await;
        sqlx::raw_sql(statement).execute(&mut session).await.expect("the primary takes a statement");
    }

    async fn is_synchronous(&self) -> bool {
        let query = "select exists (select from pg_stat_replication where sync_state = 'sync' and state = 'streaming')";
        let mut session = self.session().await;
        sqlx::query_scalar(AssertSqlSafe(query)).fetch_one(&mut session).await.unwrap_or(false)
    }

    async fn session(&self) -> PgConnection {
        PgConnection::connect(&self.url("kit")).await.expect("the primary takes a session")
    }
}

/// Every process of the server, at once.
fn kill(data: &str) {
    let written = fs::read_to_string(format!("{data}/postmaster.pid")).expect("the primary runs");
    let pid = written.lines().next().and_then(|line| line.parse().ok()).and_then(Pid::from_raw);
    kill_process_group(pid.expect("it has a number"), Signal::KILL).expect("it can be killed");
}

/// Another number each time.
fn fresh() -> u32 {
    static MADE: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(1);
    MADE.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}
