//! The router of registered endpoints: before each handler stands what its registration demands.

use std::collections::HashMap;

use axum::{
    Router,
    extract::{FromRequestParts, Request, State},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::MethodRouter,
};

use super::{Access, Endpoint, Repeats};
use crate::{
    Error,
    caller::{AppCaller, Caller},
    error::{Code, in_words},
    middleware::once,
    state::AppState,
};

/// Serves the endpoints.
pub(crate) fn router(endpoints: Vec<Endpoint>, state: &AppState) -> Router<AppState> {
    let mut paths: HashMap<&'static str, MethodRouter<AppState>> = HashMap::new();
    for endpoint in endpoints {
        let path = endpoint.path;
        let handler = guarded(endpoint, state);
        let known = paths.remove(path).unwrap_or_default();
        paths.insert(path, known.merge(handler));
    }
    paths.into_iter().fold(Router::new(), |router, (path, handlers)| router.route(path, handlers))
}

/// Who calls comes first, then whether it is a repeat, then the handler.
fn guarded(endpoint: Endpoint, state: &AppState) -> MethodRouter<AppState> {
    let mut handler = endpoint.handler;
    if let Repeats::Named { again, resume } = endpoint.repeats {
        handler = handler.route_layer(middleware::from_fn_with_state((state.clone(), again, resume), once));
    }
    if endpoint.access != Access::Open {
        handler =
            handler.route_layer(middleware::from_fn_with_state((state.clone(), endpoint.access), admit));
    }
    match endpoint.unavailable {
        None => handler,
        Some(words) => handler.route_layer(middleware::map_response(async move |response: Response| {
            in_words(response, Code::Unavailable, words)
        })),
    }
}

/// Lets in who may call, and leaves the caller on the request for the handler.
async fn admit(State((state, access)): State<(AppState, Access)>, request: Request, next: Next) -> Response {
    match identify(&state, access, request).await {
        Ok(request) => next.run(request).await,
        Err(error) => error.into_response(),
    }
}

async fn identify(state: &AppState, access: Access, request: Request) -> Result<Request, Error> {
    let (mut parts, body) = request.into_parts();
    match access {
        Access::Open => {}
        Access::App => {
            let app = AppCaller::from_request_parts(&mut parts, state).await?;
            parts.extensions.insert(app);
        }
        Access::AnyKey | Access::Scope(_) => {
            let caller = Caller::from_request_parts(&mut parts, state).await?;
            if let Access::Scope(scope) = access {
                caller.require(scope)?;
            }
            parts.extensions.insert(caller);
        }
    }
    Ok(Request::from_parts(parts, body))
}
