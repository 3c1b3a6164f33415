//! Each route, as the middleware needs it: its pattern, and how long each of its methods may take.

use std::collections::HashMap;

use axum::http::Method;
use tokio::time::Duration;

use crate::Settings;

/// What an endpoint waits for at most, once the request's body is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Wait {
    /// The database.
    #[default]
    Database,
    /// The end of a job, as long as a create waits.
    Job,
    /// A turn of the assistant: the reply to a message may come in one body.
    Turn,
    /// A run that a task queue delivers.
    Run,
    /// Two answers of an app's servers at most, one after the other: its manifest, and the tools of its MCP server.
    AppServers,
}

/// How long a turn of the assistant takes at most.
const TURN: Duration = Duration::from_secs(120);

/// How long an app's server may take to answer when an app is saved or installed.
const APP_SERVER: Duration = Duration::from_secs(10);

impl Wait {
    /// The time after which a request is given up.
    pub(crate) fn longest(self, settings: &Settings) -> Duration {
        settings.database_wait
            + match self {
                Self::Database => Duration::ZERO,
                Self::Job => settings.create_wait,
                Self::Turn => TURN,
                Self::Run => settings.run_timeout,
                Self::AppServers => 2 * APP_SERVER,
            }
    }
}

/// All routes by their patterns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Patterns(HashMap<&'static str, Vec<(&'static str, Wait)>>);

impl Patterns {
    /// Of the pattern, the method in small letters, and the wait of each endpoint.
    pub(crate) fn of(endpoints: impl IntoIterator<Item = (&'static str, &'static str, Wait)>) -> Self {
        let mut patterns = Self::default();
        for (pattern, method, wait) in endpoints {
            patterns.0.entry(pattern).or_default().push((method, wait));
        }
        patterns
    }

    /// What a request waits for.
    pub(crate) fn wait(&self, pattern: &str, method: &Method) -> Wait {
        let methods = self.0.get(pattern).into_iter().flatten();
        let mut found = methods.filter(|(known, _)| method.as_str().eq_ignore_ascii_case(known));
        found.next().map(|(_, wait)| *wait).unwrap_or_default()
    }

    /// Whether a path is of a public route: an id is any step that is not empty.
    pub(crate) fn has(&self, path: &str) -> bool {
        let public = |(_, methods): &(_, &Vec<(_, Wait)>)| methods.iter().all(|(_, wait)| *wait != Wait::Run);
        self.0.iter().filter(public).any(|(pattern, _)| fits(pattern, path))
    }
}

fn fits(pattern: &str, path: &str) -> bool {
    let mut steps = path.split('/');
    let fits = pattern.split('/').all(|known| {
        steps.next().is_some_and(|step| step == known || (known.starts_with('{') && !step.is_empty()))
    });
    fits && steps.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn route_patterns_match_segment_by_segment() {
        assert!(fits("/v1/goals/{goal_id}/history", "/v1/goals/7/history"));
        for other in ["/v1/goals//history", "/v1/goals/7", "/v1/goals/7/history/x", "//v1/goals/7/history"] {
            assert!(!fits("/v1/goals/{goal_id}/history", other), "{other}");
        }
    }

    #[test]
    fn route_deadline_depends_on_method_and_internal_routes_are_hidden() {
        let patterns = Patterns::of([
            ("/v2/messages", "get", Wait::Database),
            ("/v2/messages", "post", Wait::Turn),
            ("/run", "post", Wait::Run),
        ]);
        assert_eq!(patterns.wait("/v2/messages", &Method::POST), Wait::Turn);
        for (pattern, method) in [("/v2/messages", Method::HEAD), ("unknown", Method::POST)] {
            assert_eq!(patterns.wait(pattern, &method), Wait::Database);
        }
        assert!(patterns.has("/v2/messages") && !patterns.has("/run"));
    }
}
