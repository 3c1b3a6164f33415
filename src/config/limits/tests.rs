//! Invalid settings, and their error messages.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

use clap::Parser;
use records::Source;

use super::*;

const COLLECTOR: &str = "--otel-exporter-otlp-endpoint=http://127.0.0.1:4318";

#[derive(Parser)]
struct Words {
    #[command(flatten)]
    config: Config,
}

fn set(words: &[&str]) -> Config {
    Words::try_parse_from([&["listen"], words].concat()).unwrap().config
}

/// What is wrong when one setting is `value`.
fn wrong(flag: &str, value: &str) -> Vec<String> {
    set(&[&format!("--{flag}={value}")]).problems()
}

#[test]
fn default_settings_are_valid() {
    assert_eq!(set(&[]).problems(), Vec::<String>::new());
}

#[test]
fn vendor_names_may_be_listed_with_blanks() {
    assert_eq!(set(&["--vendor-sources=pendant, clip,"]).vendors(), ["pendant", "clip"]);
    assert_eq!(set(&[]).vendors(), Source::VENDORS);
}

#[test]
fn invalid_speech_settings_are_refused_before_anything_starts() {
    let problems = wrong("speech-base-url", "http://127.0.0.1:8000/v1");
    assert_eq!(problems, Vec::<String>::new(), "and no panic for want of a crypto library");
}

#[test]
fn numbers_outside_of_their_range_are_refused_by_name() {
    let cases = [
        ("retention-days", "0", "36501"),
        ("finalization-stale-seconds", "0", "9999999999999999"),
        ("finalization-lease-seconds", "-5", "86401"),
        ("finalization-heartbeat-seconds", "0", "86401"),
        ("finalization-run-timeout-seconds", "-1", "86401"),
        ("finalization-max-attempts", "0", "1001"),
        ("finalization-max-crashes", "0", "1001"),
        ("finalization-concurrency", "0", "10001"),
        ("creation-concurrency", "0", "10001"),
        ("database-connections", "3", "10001"),
        ("openai-context-tokens", "4095", "10000001"),
        ("connections", "15", "100001"),
        ("connections-per-address", "0", "100001"),
        ("memory-budget", "63MiB", "1025GiB"),
    ];
    for (flag, low, high) in cases {
        let begins = format!("LISTEN_{} must be ", flag.replace('-', "_").to_uppercase());
        for value in [low, high] {
            let said = wrong(flag, value);
            assert!(said.iter().any(|words| words.starts_with(&begins)), "{flag}={value}: {said:?}");
        }
    }
    assert_eq!(wrong("create-wait-seconds", "55"), ["LISTEN_CREATE_WAIT_SECONDS must be 0 to 54"]);
    assert_eq!(wrong("drain-seconds", "61"), ["LISTEN_DRAIN_SECONDS must be 0 to 60"]);
}

#[test]
fn ends_of_each_range_are_valid() {
    for value in ["1", "36500"] {
        assert_eq!(wrong("retention-days", value), Vec::<String>::new());
    }
    assert_eq!(wrong("finalization-stale-seconds", "86400"), Vec::<String>::new());
    let longest = set(&["--finalization-run-timeout-seconds=86400", "--finalization-lease-seconds=86399"]);
    assert_eq!(longest.problems(), Vec::<String>::new());
}

/// Beside each stands the nearest that can work.
#[test]
fn conflicting_settings_are_refused() {
    let modes = ["postgres", "inline"].map(|mode| format!("--finalization-dispatch-mode={mode}"));
    let [postgres, inline] = modes.each_ref().map(String::as_str);
    let [lease, longer] = ["--finalization-lease-seconds=20", "--finalization-lease-seconds=21"];
    let same = ["--addr=127.0.0.1:9000", "--admin-addr=127.0.0.1:9000"];
    let cases: [(&[&str], &[&str], &str); 7] = [
        (
            &[lease, "--finalization-heartbeat-seconds=10"],
            &[longer, "--finalization-heartbeat-seconds=10"],
            "the lease must be longer than two heartbeats",
        ),
        (
            &[longer, "--finalization-run-timeout-seconds=21"],
            &[longer, "--finalization-run-timeout-seconds=22"],
            "the run timeout must be longer than the lease",
        ),
        (&[inline, "--roles=api"], &[postgres, "--roles=api"], "LISTEN_FINALIZATION_DISPATCH_MODE=inline"),
        (
            &[inline, "--roles=worker,reconciler"],
            &[inline, "--roles=api,worker"],
            "LISTEN_FINALIZATION_DISPATCH_MODE=inline",
        ),
        (
            &[inline, "--roles=reconciler"],
            &[postgres, "--roles=reconciler"],
            "LISTEN_FINALIZATION_DISPATCH_MODE=inline",
        ),
        (
            &same,
            &["--addr=127.0.0.1:0", "--admin-addr=127.0.0.1:0"],
            "LISTEN_ADDR and LISTEN_ADMIN_ADDR are the same",
        ),
        (
            &same,
            &[same[0], same[1], postgres, "--roles=reconciler"],
            "LISTEN_ADDR and LISTEN_ADMIN_ADDR are the same",
        ),
    ];
    for (refused, allowed, begins) in cases {
        let said = set(refused).problems();
        assert!(said.len() == 1 && said[0].starts_with(begins), "{refused:?}: {said:?}");
        assert_eq!(set(allowed).problems(), Vec::<String>::new(), "{allowed:?}");
    }
}

#[test]
fn process_without_a_role_is_refused() {
    assert!(Words::try_parse_from(["listen", "--roles="]).is_err());
}

#[test]
fn address_that_is_none_is_refused_with_its_form() {
    for (words, expected) in [
        ("--addr=localhost:8080", "an IP address and a port"),
        ("--allow-outgoing=10.0.0.1", "a range of addresses"),
    ] {
        let refused = Words::try_parse_from(["listen", words]).err().unwrap().to_string();
        assert!(refused.contains(expected), "{refused}");
    }
}

#[test]
fn schedule_of_five_fields_is_refused_with_what_is_missing() {
    let said = wrong("reconciler-cron", "*/5 * * * *");
    assert_eq!(said.len(), 1);
    assert!(said[0].contains("six fields, seconds first, for example `0 */5 * * * *`"), "{said:?}");
}

/// The reconciler made its round at start and then, without a word, none.
#[test]
fn schedule_that_never_comes_is_refused() {
    for never in ["0 0 0 30 2 *", "0 0 0 31 4,6,9,11 *", "0 0 0 1 1 * 2020"] {
        let said = wrong("reconciler-cron", never);
        assert_eq!(said, ["LISTEN_RECONCILER_CRON names no moment that is still to come"], "{never}");
    }
    assert_eq!(wrong("reconciler-cron", "0 0 0 29 2 *"), Vec::<String>::new());
}

#[test]
fn cors_origin_must_have_the_browsers_form() {
    for good in ["https://app.example", "http://localhost:3000"] {
        assert_eq!(wrong("cors-origins", good), Vec::<String>::new());
    }
    for bad in ["*", "app.example", "https://app.example/", "https://app.example/path", "HTTPS://App.example"]
    {
        let said = wrong("cors-origins", bad);
        assert!(said.len() == 1 && said[0].starts_with("LISTEN_CORS_ORIGINS: "), "{bad}: {said:?}");
    }
}

#[test]
fn vapid_subject_must_be_a_contact() {
    for good in ["mailto:olga@example.org", "https://example.org/contact"] {
        assert_eq!(wrong("vapid-subject", good), Vec::<String>::new());
    }
    for bad in ["mailto:", "mailto:olga", "https://", "olga@example.org", "http://example.org"] {
        assert_eq!(wrong("vapid-subject", bad).len(), 1, "{bad}");
    }
}

#[test]
fn model_server_needs_a_url_and_a_model() {
    let said = wrong("openai-base-url", "models.example/v1");
    assert!(said[0].starts_with("LISTEN_OPENAI_BASE_URL must be"), "{said:?}");
    let said = wrong("openai-base-url", "https://models.example/v1");
    assert!(said[0].contains("LISTEN_OPENAI_MODEL"), "{said:?}");
    let said = wrong("text-engine", "openai");
    assert!(said[0].contains("LISTEN_OPENAI_BASE_URL"), "{said:?}");
    let works = ["--openai-base-url=https://models.example/v1", "--openai-model=m"];
    assert_eq!(set(&works).problems(), Vec::<String>::new());
}

#[test]
fn console_and_trace_settings_are_refused_by_variable_name() {
    let cases: [(&[&str], &str); 7] = [
        (&["--console-keys=ana"], "LISTEN_CONSOLE_KEYS must be "),
        (&["--console-user-header=not a header"], "LISTEN_CONSOLE_USER_HEADER must be "),
        (&["--console-operators=ana"], "LISTEN_CONSOLE_OPERATORS needs LISTEN_CONSOLE_USER_HEADER"),
        (
            &["--console-keys=ana", "--console-user-header=x-user"],
            "LISTEN_CONSOLE_KEYS and LISTEN_CONSOLE_USER_HEADER are two ways in",
        ),
        (&["--otel-exporter-otlp-endpoint=collector"], "OTEL_EXPORTER_OTLP_ENDPOINT must be "),
        (&[COLLECTOR, "--otel-exporter-otlp-headers=none"], "OTEL_EXPORTER_OTLP_HEADERS must be "),
        (
            &[COLLECTOR, "--otel-traces-sampler=traceidratio", "--otel-traces-sampler-arg=2"],
            "OTEL_TRACES_SAMPLER_ARG must be ",
        ),
    ];
    for (words, begins) in cases {
        let said = set(words).problems();
        assert!(said.len() == 1 && said[0].starts_with(begins), "{words:?}: {said:?}");
    }
}

#[test]
fn service_needs_a_database_url_and_dev_does_not() {
    let without = Config { database_url: None, ..set(&[]) };
    assert_eq!(without.problems(), Vec::<String>::new());
    assert!(without.problems_of_service()[0].starts_with("DATABASE_URL is not set"));
    let said = set(&["--database-url=mysql://ada:secret@localhost/listen"]).problems_of_service();
    assert_eq!(said, ["DATABASE_URL is not a PostgreSQL URL (postgresql://…): it has another scheme"]);
    let said = set(&["--database-url=postgresql://ada:a/b@localhost/listen"]).problems_of_service();
    assert!(said[0].contains("it cannot be read: a password's special letters"), "{said:?}");
}
