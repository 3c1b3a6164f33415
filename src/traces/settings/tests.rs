//! Settings as words, and what is wrong with them.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

use clap::Parser;

use super::*;

#[derive(Parser)]
struct Words {
    #[command(flatten)]
    traces: TraceSettings,
}

fn set(words: &[&str]) -> TraceSettings {
    Words::try_parse_from([&["listen"], words].concat()).unwrap().traces
}

#[test]
fn tracing_is_off_without_an_address() {
    let unset = set(&["--otel-exporter-otlp-endpoint", " ", "--otel-traces-sampler-arg", "many"]);
    assert_eq!((unset.endpoint(), unset.problems()), (None, Vec::new()));
}

#[test]
fn trace_url_is_built_below_the_address() {
    for base in ["http://collector:4318", "http://collector:4318/"] {
        let set = set(&["--otel-exporter-otlp-endpoint", base]);
        assert_eq!(set.endpoint().as_deref(), Some("http://collector:4318/v1/traces"));
        assert_eq!(set.problems(), Vec::<String>::new());
    }
}

#[test]
fn trace_address_that_is_invalid_is_refused_without_repeating_it() {
    for base in ["localhost:4318", "ftp://collector", "http://", "/v1/traces", "https://ann:secret@collector"]
    {
        let problems = set(&["--otel-exporter-otlp-endpoint", base]).problems();
        assert_eq!(problems.len(), 1, "{base}: {problems:?}");
        assert!(!problems[0].contains("secret"));
    }
}

#[test]
fn trace_headers_are_decoded_pairs() {
    let with = |headers| {
        set(&["--otel-exporter-otlp-endpoint", "http://c", "--otel-exporter-otlp-headers", headers])
    };
    let headers = with("authorization=Basic%20YWE6+Yg==, x-team = listen , x-key=a&b%26c").headers().unwrap();
    assert_eq!(headers["authorization"], "Basic YWE6+Yg==");
    assert_eq!(headers["x-key"], "a&b&c", "it was cut there");
    assert_eq!(headers["x-team"], "listen");
    assert_eq!(with("no pair").problems().len(), 1);
    assert_eq!(with("a=%0d%0a").problems().len(), 1);
}

#[test]
fn trace_sample_ratio_is_0_to_1() {
    let share = |share: &str| {
        let words = ["--otel-exporter-otlp-endpoint", "http://c", "--otel-traces-sampler", "traceidratio"];
        let share = format!("--otel-traces-sampler-arg={share}");
        set(&[&words[..], &[&share]].concat()).problems().len()
    };
    assert_eq!(["0", "0.25", "1", "1.5", "-1", "NaN", "half"].map(share), [0, 0, 0, 1, 1, 1, 1]);
}
