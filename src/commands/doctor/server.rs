//! The server and its database: what several shards in it share.

use std::time::Duration;

use db::ENCODING;
use operations::{Examination, OldTransaction, Workers};

use super::{Level, Near, Remark, clock, remark, sessions};
use crate::connections::Limits;

/// As many connections as a process keeps by default.
const ENOUGH: usize = 1_024;

/// What the facts mean. Pure.
pub(super) fn server(found: &Examination, workers: &Workers, near: &Near) -> Vec<Remark> {
    let mut remarks = vec![
        database(&found.server, near.round_trip),
        encoding(&found.encoding),
        writes(found),
        settings(found),
        clock::clock(near.skew, found.writes),
        connections(found),
        open_files(near.open_files),
    ];
    remarks.extend(found.has_readable_tables().then(|| sessions::sessions(found, workers, near.shards)));
    remarks.extend([transactions(found), locks(found), bloat(found)]);
    remarks
}

fn database(version: &str, round_trip: Duration) -> Remark {
    let words = format!("PostgreSQL {version}, a round trip takes {:.1} ms", round_trip.as_secs_f64() * 1e3);
    let major = version.split(|c: char| !c.is_ascii_digit()).next().and_then(|major| major.parse().ok());
    match major.is_some_and(|major: u32| major < embedded::OLDEST_MAJOR) {
        false => remark("database", Level::Fine, words),
        true => {
            let oldest = embedded::OLDEST_MAJOR;
            let words =
                format!("{words}; versions before {oldest} are not tested with listen: upgrade the server");
            remark("database", Level::Warning, words)
        }
    }
}

fn encoding(found: &str) -> Remark {
    match found == ENCODING {
        true => remark("encoding", Level::Fine, format!("texts are stored as {found}")),
        false => remark(
            "encoding",
            Level::Failure,
            format!(
                "texts are stored as {found}, so some are refused and searches miss words: dump the database, and restore \
                 it into one that was made with `create database … encoding 'UTF8' template template0`"
            ),
        ),
    }
}

fn writes(found: &Examination) -> Remark {
    let why = match (found.writes, found.disk_is_full) {
        (true, false) => return remark("writes", Level::Fine, "are accepted".to_owned()),
        (true, true) => {
            "fail: a disk of the server is full. Make room there; nothing has to be restarted, and jobs that run go on by \
             themselves"
        }
        (false, _) => {
            "are refused, so nothing is stored and nothing processed: the server is a standby, or \
             default_transaction_read_only is on, which providers set when its disk is full"
        }
    };
    remark("writes", Level::Failure, why.to_owned())
}

fn settings(found: &Examination) -> Remark {
    match found.unsafe_settings.as_slice() {
        [] => remark("durability", Level::Fine, "what is committed survives a crash".to_owned()),
        off => remark(
            "durability",
            Level::Warning,
            format!("{}: a crash of the server may lose what was committed", off.join(", ")),
        ),
    }
}

fn connections(found: &Examination) -> Remark {
    let (used, most) = found.connections;
    let level = if used * 10 > most * 9 {
        Level::Failure
    } else if used * 10 > most * 7 {
        Level::Warning
    } else {
        Level::Fine
    };
    remark("connections", level, format!("{used} of {most} in use"))
}

/// Each connection to the public address is an open file.
fn open_files(files: u64) -> Remark {
    let keeps = Limits::public(Limits { all: ENOUGH, per_address: ENOUGH }, files, 0).all;
    match keeps < ENOUGH {
        false => remark("open files", Level::Fine, "a process started from here may open enough".to_owned()),
        true => remark(
            "open files",
            Level::Warning,
            format!(
                "a process started from here may open {files}, enough for {keeps} connections: raise it to 4096 \
                 (`ulimit -Hn`, `LimitNOFILE=`)"
            ),
        ),
    }
}

fn named(sessions: &[OldTransaction]) -> Vec<String> {
    let name = |old: &OldTransaction| {
        format!("pid {} {} is {} for {:.0} s", old.pid, old.application, old.state, old.seconds)
    };
    sessions.iter().map(name).collect()
}

fn transactions(found: &Examination) -> Remark {
    let mut words = named(&found.old_transactions);
    words.extend(found.holding_back.iter().cloned());
    let unseen = found.blind_role.as_ref().map(|role| {
        format!("transactions of other roles cannot be seen, so ListenVacuumHeldBack misses them: `grant pg_read_all_stats to {role}`")
    });
    let ends = match found.holding_back.is_empty() {
        true => "`select pg_terminate_backend(pid)` ends one",
        false => {
            "`select pg_terminate_backend(pid)` ends a session, `rollback prepared 'name'` a prepared transaction, \
             `select pg_drop_replication_slot('name')` a slot"
        }
    };
    let seen = (!words.is_empty()).then(|| format!("hold back vacuum: {}; {ends}", words.join(", ")));
    match [seen, unseen].into_iter().flatten().collect::<Vec<_>>().as_slice() {
        [] => remark("transactions", Level::Fine, "none is old enough to hold back vacuum".to_owned()),
        told => remark("transactions", Level::Warning, told.join("; ")),
    }
}

/// Sessions that keep a table of this shard locked, if there are any.
pub(super) fn locked(found: &Examination) -> Option<Remark> {
    let words = format!(
        "a table cannot be read, so that nothing more was examined: {}; if it is not a migration that is running, `select \
         pg_terminate_backend(pid)` ends it",
        named(&found.locking).join(", ")
    );
    (!found.locking.is_empty()).then(|| remark("tables", Level::Failure, words))
}

fn locks(found: &Examination) -> Remark {
    let level = if found.waiting_for_locks > 0 { Level::Warning } else { Level::Fine };
    remark("locks", level, format!("{} sessions wait for one longer than 5 s", found.waiting_for_locks))
}

fn bloat(found: &Examination) -> Remark {
    let tables: Vec<String> = found
        .bloated
        .iter()
        .map(|(table, share)| format!("{table} {share:.1} dead rows per live one"))
        .collect();
    match tables.as_slice() {
        [] => remark("vacuum", Level::Fine, "keeps up".to_owned()),
        tables => remark("vacuum", Level::Warning, format!("falls behind: {}", tables.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::processes;

    #[test]
    fn doctor_warns_of_a_server_older_than_the_oldest_tested_version() {
        let level = |version| database(version, Duration::ZERO).level;
        assert_eq!(level("13.23"), Level::Warning);
        assert_eq!(level("14.0"), Level::Fine);
        assert_eq!(level("18.4 (Debian 18.4-1.pgdg130+1)"), Level::Fine);
        assert_eq!(level("19devel"), Level::Fine);
    }

    #[test]
    fn doctor_names_a_file_limit_too_small_for_the_connections() {
        let small = open_files(1_024);
        assert_eq!(small.level, Level::Warning);
        assert!(small.words.contains("1024") && small.words.contains("768 connections"), "{}", small.words);
        assert_eq!(open_files(4_096).level, Level::Fine);
        assert_eq!(open_files(u64::MAX).level, Level::Fine);
    }

    #[test]
    fn doctor_says_what_ends_a_prepared_transaction() {
        let holding_back = vec!["prepared transaction one".to_owned()];
        let found = Examination { holding_back, ..processes::tests::found() };
        let words = transactions(&found).words;
        assert!(
            words.contains("`rollback prepared 'name'` a prepared transaction"),
            "it has no pid: {words}"
        );
    }

    #[test]
    fn doctor_does_not_deny_long_transactions_it_cannot_see() {
        let seeing = processes::tests::found();
        assert_eq!(transactions(&seeing).level, Level::Fine);
        let blind = transactions(&Examination { blind_role: Some("listen".to_owned()), ..seeing });
        assert_eq!(blind.level, Level::Warning);
        assert!(blind.words.contains("`grant pg_read_all_stats to listen`"), "{}", blind.words);
    }
}
