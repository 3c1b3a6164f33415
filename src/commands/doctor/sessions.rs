//! Whether the database allows the sessions that the processes may open, before it refuses one.

use operations::{Examination, Workers};

use super::{Level, Remark, remark};
use crate::commands::{jobs::several, living::living};

/// What a process opens at most by default where there is one shard: ten, two that renew leases, one that listens for wake-ups.
const OF_A_PROCESS: i64 = 13;
/// The same for each of several shards: four, two and one.
const OF_A_SHARD: i64 = 7;
/// What is left for operators, backups and the server's own.
const LEFT: i64 = 10;

/// A process more than there are runs while one is replaced. `shards`: how many of several are on the server; `None` where there
/// is one in all.
pub(super) fn sessions(found: &Examination, workers: &Workers, shards: Option<i64>) -> Remark {
    let living = i64::try_from(living(workers).count()).unwrap_or(i64::MAX);
    let each = shards.map_or(OF_A_PROCESS, |shards| shards.saturating_mul(OF_A_SHARD));
    let (now, replacing) = (living.saturating_mul(each), living.saturating_add(1).saturating_mul(each));
    let allowed = found.connections.1;
    let usable = allowed - LEFT;
    let of_shards = shards.map(|shards| format!(" ({OF_A_SHARD} for each shard, {shards} on this server)"));
    let words = format!(
        "{} with {each} each{} may open {now} of {allowed}, {replacing} while one is replaced",
        several(living, "process", "processes"),
        of_shards.unwrap_or_default(),
    );
    let advice = match shards {
        None => {
            "raise max_connections, or lower LISTEN_DATABASE_CONNECTIONS (10 where it is not set) and ignore this"
        }
        Some(_) => "raise max_connections of this server, or keep fewer shards on it",
    };
    match replacing <= usable {
        true => remark("sessions", Level::Fine, words),
        false => remark("sessions", Level::Warning, format!("{words}, and {LEFT} are for others: {advice}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::processes::tests::{found, view};

    fn seen(processes: u32, allowed: i64, shards: Option<i64>) -> Remark {
        let processes = (0..processes).map(|number| view(&format!("host:{number}"), 4, 1, 0)).collect();
        let found = Examination { connections: (1, allowed), ..found() };
        sessions(&found, &Workers { processes, strays: Vec::new() }, shards)
    }

    #[test]
    fn doctor_warns_of_too_few_sessions_for_a_rolling_upgrade() {
        assert_eq!(seen(5, 100, None).level, Level::Fine);
        let few = seen(6, 100, None);
        assert_eq!(few.level, Level::Warning);
        assert!(
            few.words.starts_with("6 processes with 13 each may open 78 of 100, 91 while one"),
            "{few:?}"
        );
        assert_eq!(seen(0, 100, None).level, Level::Fine, "nothing runs yet");
    }

    #[test]
    fn doctor_counts_sessions_of_every_shard_on_a_server() {
        let enough = seen(3, 100, Some(3));
        assert_eq!(enough.level, Level::Fine);
        assert!(
            enough
                .words
                .starts_with("3 processes with 21 each (7 for each shard, 3 on this server) may open 63"),
            "{enough:?}"
        );
        let few = seen(4, 100, Some(3));
        assert_eq!(few.level, Level::Warning);
        assert!(few.words.contains("keep fewer shards on it"), "{few:?}");
    }
}
