//! Every list at every width.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use super::*;
use crate::commands::{apps, audit, config, folders, jobs, keys, live, replays, users, webhooks};

const JOBS: [&str; 2] = ["fj_0123456789abcdef0123456789abcdef", "fj_00000000000000000000000089abcd00"];
const USERS: [&str; 2] = ["0d0a3f0e-6f0c-4d0b-9a52-d3a1f4c1b2aa", "ada.lovelace@analytical.example.org"];
const UUIDS: [&str; 2] = ["8a6e0804-2bd0-4672-b79d-d97027f9071a", "8a6e0804-2bd0-4672-b79d-d97027f90000"];
const WORDS: &str = "the model server was down from noon to one, and everything that died then is run again";

/// A list by its name, with its columns and rows.
type List = (&'static str, Vec<Column>, Vec<Vec<String>>);

/// Every list of the command line with rows as wide as they come.
fn lists() -> Vec<List> {
    let rows = |make: &dyn Fn(usize) -> Vec<&'static str>| -> Vec<Vec<String>> {
        (0..2).map(|row| make(row).into_iter().map(str::to_owned).collect()).collect()
    };
    let of = |name, columns: &[Column], make: &dyn Fn(usize) -> Vec<&'static str>| {
        (name, columns.to_vec(), rows(make))
    };
    vec![
        of("jobs", &jobs::list::COLUMNS, &|row| {
            vec![
                JOBS[row],
                "dead_letter (dismissed)",
                "account_deletion",
                "finalization",
                "5/4",
                "12",
                "119m",
                USERS[row],
            ]
        }),
        of("codes", &jobs::causes::COLUMNS, &|_| vec!["model_context_exceeded", "1000000", "99999"]),
        of("actions", &audit::COLUMNS, &|row| {
            vec!["119m", "olga", "redeliver_webhook", JOBS[row], "model_unavailable", WORDS]
        }),
        of("live", &live::COLUMNS, &|row| {
            vec![UUIDS[row], USERS[row], "listen-7d4b9c6f5-x2x7k:1", "119m", "1000", "119s", "in 119s"]
        }),
        of("replays", &replays::COLUMNS, &|row| {
            vec![UUIDS[row], "cancelled", "10000/10000", "9999", "9999", "9999", "47h", "olga", WORDS]
        }),
        of("items", &replays::ITEMS, &|row| {
            vec!["10000", JOBS[row], "replayed", "conversation_gone", "2026-11-24T15:44:40.123Z"]
        }),
        of("endpoints", &webhooks::COLUMNS, &|row| {
            vec![
                UUIDS[row],
                USERS[row],
                "hooks.analytical.example.org",
                "disabled: not_found",
                "100",
                "47h",
                "1000",
                "15.0 s",
            ]
        }),
        of("deliveries", &webhooks::DELIVERIES, &|row| {
            vec![UUIDS[row], "conversation.completed", "given_up", "12", "503", "connection_refused", "47h"]
        }),
        of("apps", &apps::COLUMNS, &|row| {
            vec![
                UUIDS[row],
                USERS[row],
                "Minutes of every meeting for all",
                "private",
                "off: it floods",
                "47h",
                "9999",
            ]
        }),
        of("tools", &apps::TOOLS, &|_| {
            vec!["send_minutes_to_all", "DELETE", "https://tools.analytical.example.org", WORDS]
        }),
        of("app keys", &apps::keys::COLUMNS, &|row| {
            vec![UUIDS[row], "the key of the second server", "app_4f1c…", "revoked", "119m", "47h"]
        }),
        of("keys", &keys::COLUMNS, &|row| {
            vec![UUIDS[row], "the key of my telephone", "dev_4f1c…", "revoked", "in 364d", "119m", WORDS]
        }),
        of("folders", &folders::COLUMNS, &|row| {
            vec![UUIDS[row], "Everything about the garden", "built in", "10000", WORDS]
        }),
        of("settings", &config::COLUMNS, &|row| {
            vec![
                "finalization_tasks_oidc_audience",
                [
                    "https://listen.analytical.example.org/v1/conversation-finalization-jobs/run",
                    "auto (openai)",
                ][row],
                "environment",
            ]
        }),
        of("users", &users::list::COLUMNS, &|row| {
            vec![
                USERS[row],
                "119m",
                "America/Argentina/ComodRivadavia",
                "required",
                "2026-11-24T15:44:40.123Z",
            ]
        }),
    ]
}

#[test]
fn table_fits_every_width_without_breaking_words() {
    for (name, columns, rows) in lists() {
        assert!(rows.iter().all(|row| row.len() == columns.len()), "{name}");
        for width in [60, 80, 100, 120] {
            let fitted = fit(&columns, &rows, Some(width));
            for line in &fitted.lines {
                let line = joined(line);
                assert!(display_width(line.trim_end()) <= width, "{name} at {width}: {line}");
            }
            let kept = columns.iter().enumerate();
            let kept: Vec<usize> = kept
                .filter(|(_, column)| !fitted.left_out.contains(&column.heading))
                .map(|(at, _)| at)
                .collect();
            assert!(kept.len() >= 2, "{name} at {width}: {:?}", fitted.left_out);
            for (cells, row) in fitted.lines[1..].iter().zip(&rows) {
                for (cell, place) in cells.iter().zip(&kept) {
                    let (cell, value) = (cell.trim(), &row[*place]);
                    assert!(
                        is_whole_or_honest(columns[*place].kind, cell, value),
                        "{name} at {width}: {cell}"
                    );
                }
            }
        }
    }
}

/// A cell shows its value, or an end of an id that a command accepts, or the first whole words of a text.
fn is_whole_or_honest(kind: Kind, cell: &str, value: &str) -> bool {
    match kind {
        _ if cell == value => true,
        Kind::Id => {
            let end = cell.strip_prefix('…').is_some_and(|end| value.ends_with(end));
            let start = cell.strip_suffix('…').is_some_and(|start| value.starts_with(start));
            end || start
        }
        Kind::Text => match cell.strip_suffix('…').map(str::trim_end) {
            Some(start) if !start.contains(' ') && value.starts_with(start) => true,
            Some(words) => value.strip_prefix(words).is_some_and(|rest| rest.starts_with(' ')),
            None => false,
        },
        Kind::Word | Kind::Number => false,
    }
}

#[test]
fn table_of_settings_keeps_values_on_a_narrow_terminal() {
    let (_, columns, rows) = lists().into_iter().find(|(name, ..)| *name == "settings").unwrap();
    for (width, value) in [(60, "https://listen.analytical…"), (80, "https://listen.analytical.exampl…")]
    {
        let fitted = fit(&columns, &rows, Some(width));
        assert_eq!(fitted.lines[1][1].trim(), value, "{width}");
    }
}

#[test]
fn table_in_a_pipe_is_complete() {
    for (name, columns, rows) in lists() {
        let fitted = fit(&columns, &rows, None);
        assert_eq!(fitted.left_out, Vec::<&str>::new(), "{name}");
        for (line, row) in fitted.lines[1..].iter().zip(&rows) {
            let cells: Vec<&str> = line.iter().map(|cell| cell.trim()).collect();
            assert_eq!(&cells, row, "{name}");
        }
    }
}

#[test]
fn table_drops_columns_by_rank_and_restores_them() {
    let columns = [id("job", 0), word("status", 1), word("queue", 2)];
    let rows = vec![vec![JOBS[0].to_owned(), "queued".to_owned(), "finalization".to_owned()]];
    let left_out = |width| fit(&columns, &rows, Some(width)).left_out;
    assert_eq!(left_out(20), ["queue"]);
    assert_eq!((left_out(80), left_out(31)), (vec![], vec![]));
    assert_eq!(joined(&fit(&columns, &rows, Some(20)).lines[1]), "…89abcdef  queued");
    assert!(joined(&fit(&columns, &rows, Some(80)).lines[1]).starts_with(JOBS[0]));
}

#[test]
fn table_short_ids_are_unique_per_row() {
    assert_eq!(short_ids(&["fj_00000000aaaaaaaa", "fj_00000000bbbbbbbb"]), ["…aaaaaaaa", "…bbbbbbbb"]);
    assert_eq!(short_ids(&[USERS[1], "bob.lovelace@analytical.example.org"]), ["ada.love…", "bob.love…"]);
    assert_eq!(short_ids(&["u1", "u2"]), ["u1", "u2"]);
    assert_eq!(short_ids(&[JOBS[0], "finalization"]), ["…89abcdef", "finalization"], "the name of a queue");
    assert_eq!(short_ids(&[JOBS[0], JOBS[0]]), ["…89abcdef", "…89abcdef"], "one id in two rows");
}

#[test]
fn table_text_is_truncated_at_a_space() {
    assert_eq!(cut("the model is back", 12), "the model …");
    assert_eq!(cut("the model is back", 17), "the model is back");
    assert_eq!(cut("https://models.example/v1", 13), "https://mode…");
    assert_eq!(cut("説明: 会議に関するもの", 14), "説明: 会議に…", "not at the one space");
    assert_eq!((cut("東京東京", 6), cut("東京東京", 1)), ("東京…".to_owned(), "…".to_owned()));
}
