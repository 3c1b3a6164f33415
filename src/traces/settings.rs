//! Where traces go and how many: under the names that OpenTelemetry gives such settings everywhere.

use std::collections::HashMap;

use axum::http::{HeaderName, HeaderValue, Uri};
use clap::{Args, ValueEnum};
use opentelemetry_sdk::trace::Sampler;

/// Which traces are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum Sampling {
    /// All.
    AlwaysOn,
    /// None.
    AlwaysOff,
    /// A share of them.
    Traceidratio,
    /// What the client's `traceparent` says; without one, all.
    ParentbasedAlwaysOn,
    /// What the client's `traceparent` says; without one, none.
    ParentbasedAlwaysOff,
    /// What the client's `traceparent` says; without one, a share.
    ParentbasedTraceidratio,
}

/// What can be set about traces.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Traces")]
pub(crate) struct TraceSettings {
    /// Collector for OTLP over HTTP, such as http://127.0.0.1:4318; without one nothing is traced.
    #[arg(long, env = "OTEL_EXPORTER_OTLP_ENDPOINT", value_name = "URL")]
    otel_exporter_otlp_endpoint: Option<String>,
    /// Headers for the collector, such as its key; values percent-encoded.
    #[arg(long, env = "OTEL_EXPORTER_OTLP_HEADERS", hide_env_values = true, value_name = "NAME=VALUE,…")]
    otel_exporter_otlp_headers: Option<String>,
    /// Name of this service in traces.
    #[arg(long, env = "OTEL_SERVICE_NAME", default_value = "listen", value_name = "NAME")]
    otel_service_name: String,
    /// Sampler; the `parentbased_` ones follow a client's `traceparent` first.
    #[arg(
        long,
        env = "OTEL_TRACES_SAMPLER",
        default_value = "parentbased_always_on",
        value_name = "SAMPLER"
    )]
    otel_traces_sampler: Sampling,
    /// Share that a ratio sampler keeps, from 0 to 1.
    #[arg(long, env = "OTEL_TRACES_SAMPLER_ARG", default_value = "1", value_name = "SHARE")]
    otel_traces_sampler_arg: String,
}

impl TraceSettings {
    /// Where spans are posted; `None` where nothing is traced.
    pub(crate) fn endpoint(&self) -> Option<String> {
        let base = self.base()?;
        Some(format!("{}/v1/traces", base.trim_end_matches('/')))
    }

    /// Set and empty is not set (OpenTelemetry, "environment variables").
    fn base(&self) -> Option<&str> {
        self.otel_exporter_otlp_endpoint.as_deref().map(str::trim).filter(|text| !text.is_empty())
    }

    /// What this service is called.
    pub(crate) fn service_name(&self) -> &str {
        match self.otel_service_name.trim() {
            "" => "listen",
            name => name,
        }
    }

    /// The headers, their values percent-decoded by the exporter; `None` when they are invalid.
    pub(crate) fn headers(&self) -> Option<HashMap<String, String>> {
        let text = self.otel_exporter_otlp_headers.as_deref().unwrap_or_default();
        text.split(',').map(str::trim).filter(|pair| !pair.is_empty()).map(header).collect()
    }

    /// The sampler; `None` when its share is invalid.
    pub(crate) fn sampler(&self) -> Option<Sampler> {
        let by_share = || self.share().map(Sampler::TraceIdRatioBased);
        let by_parent = |root| Sampler::ParentBased(Box::new(root));
        match self.otel_traces_sampler {
            Sampling::AlwaysOn => Some(Sampler::AlwaysOn),
            Sampling::AlwaysOff => Some(Sampler::AlwaysOff),
            Sampling::Traceidratio => by_share(),
            Sampling::ParentbasedAlwaysOn => Some(by_parent(Sampler::AlwaysOn)),
            Sampling::ParentbasedAlwaysOff => Some(by_parent(Sampler::AlwaysOff)),
            Sampling::ParentbasedTraceidratio => by_share().map(by_parent),
        }
    }

    fn share(&self) -> Option<f64> {
        let share: f64 = self.otel_traces_sampler_arg.trim().parse().ok()?;
        (0.0..=1.0).contains(&share).then_some(share)
    }

    /// What cannot work, each with what to do; no value is repeated, as it may hold a secret.
    pub(crate) fn problems(&self) -> Vec<String> {
        let Some(base) = self.base() else { return Vec::new() };
        let checks = [
            (
                !is_address(base),
                "OTEL_EXPORTER_OTLP_ENDPOINT must be the http:// or https:// address of a collector that takes OTLP \
                 over HTTP (usually port 4318), such as http://127.0.0.1:4318; unset it to trace nothing",
            ),
            (
                base.contains('@'),
                "OTEL_EXPORTER_OTLP_ENDPOINT must hold no name or password: put what the collector wants to see into \
                 OTEL_EXPORTER_OTLP_HEADERS",
            ),
            (
                self.headers().is_none(),
                "OTEL_EXPORTER_OTLP_HEADERS must be NAME=VALUE with commas between, values percent-encoded",
            ),
            (self.sampler().is_none(), "OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1"),
        ];
        checks.into_iter().filter(|(wrong, _)| *wrong).map(|(_, words)| words.to_owned()).collect()
    }
}

fn is_address(text: &str) -> bool {
    let uri: Option<Uri> = text.parse().ok();
    uri.is_some_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https"))
            && uri.host().is_some_and(|host| !host.is_empty())
            && uri.query().is_none()
    })
}

fn header(pair: &str) -> Option<(String, String)> {
    let (name, value) = pair.split_once('=')?;
    let (name, value) = (name.trim(), value.trim());
    // Decoded as a form value is, but for the plus sign and the ampersand, which stand for themselves.
    let encoded = format!("v={}", value.replace('+', "%2B").replace('&', "%26"));
    let decoded = form_urlencoded::parse(encoded.as_bytes()).next().map(|(_, value)| value.into_owned())?;
    HeaderName::try_from(name).ok()?;
    HeaderValue::try_from(&decoded).ok()?;
    Some((name.to_owned(), decoded))
}

#[cfg(test)]
mod tests;
