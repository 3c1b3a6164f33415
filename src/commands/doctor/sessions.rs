//! Whether the database allows the sessions that the processes may open, before it refuses one.

use operations::{Examination, Workers};

use super::{Level, Remark, processes::living, remark};
use crate::commands::jobs::several;

/// What a process opens at most by default: ten, two that renew leases, one that listens for wake-ups.
const OF_A_PROCESS: i64 = 13;
/// What is left for operators, backups and the server's own.
const LEFT: i64 = 10;

/// A process more than there are runs while one is replaced.
pub(super) fn sessions(found: &Examination, workers: &Workers) -> Remark {
    let living = i64::try_from(living(workers).count()).unwrap_or(i64::MAX);
    let (now, replacing) =
        (living.saturating_mul(OF_A_PROCESS), living.saturating_add(1).saturating_mul(OF_A_PROCESS));
    let allowed = found.connections.1;
    let usable = allowed - LEFT;
    let words = format!(
        "{} with {OF_A_PROCESS} each may open {now} of {allowed}, {replacing} while one is replaced",
        several(living, "process", "processes"),
    );
    match replacing <= usable {
        true => remark("sessions", Level::Fine, words),
        false => remark(
            "sessions",
            Level::Warning,
            format!(
                "{words}, and {LEFT} are for others: raise max_connections, or lower LISTEN_DATABASE_CONNECTIONS \
                 (10 where it is not set) and ignore this"
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::processes::tests::{found, view};

    fn seen(processes: u32, allowed: i64) -> Remark {
        let processes = (0..processes).map(|number| view(&format!("host:{number}"), 4, 1, 0)).collect();
        let found = Examination { connections: (1, allowed), ..found() };
        sessions(&found, &Workers { processes, strays: Vec::new() })
    }

    #[test]
    fn too_few_sessions_for_a_rolling_upgrade_are_seen_before_one_is_refused() {
        assert_eq!(seen(5, 100).level, Level::Fine);
        let few = seen(6, 100);
        assert_eq!(few.level, Level::Warning);
        assert!(
            few.words.starts_with("6 processes with 13 each may open 78 of 100, 91 while one"),
            "{few:?}"
        );
        assert_eq!(seen(0, 100).level, Level::Fine, "nothing runs yet");
    }
}
