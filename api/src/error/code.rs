//! The closed list of error codes: each with its status, its `detail` where that is always the same, what it means, and what
//! to do. `/docs/errors` and `docs/errors.md` are made of it.

use std::fmt;

use axum::http::StatusCode;

macro_rules! codes {
    ($($variant:ident = $name:literal $status:literal $detail:literal, $means:literal, $then:literal;)+) => {
        /// What went wrong, for programs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Code {
            $(#[doc = $means] $variant),+
        }

        impl Code {
            /// Every code, in the order of statuses.
            pub(crate) const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Its name.
            pub(crate) const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            const fn number(self) -> u16 {
                match self { $(Self::$variant => $status),+ }
            }

            /// The `detail` that always comes with it; empty where it names what is wrong.
            pub(crate) const fn detail(self) -> &'static str {
                match self { $(Self::$variant => $detail),+ }
            }

            /// What it means.
            pub(crate) const fn means(self) -> &'static str {
                match self { $(Self::$variant => $means),+ }
            }

            /// What a client does about it.
            pub(crate) const fn then(self) -> &'static str {
                match self { $(Self::$variant => $then),+ }
            }
        }
    };
}

codes! {
    SetupNotCompleted = "app_setup_not_completed" 400 "App setup is not completed",
        "The user has not finished the app's own setup.", "Send the user to the app's setup page, then enable the app again.";
    UnreadableBody = "unreadable_body" 400 "There was an error parsing the body",
        "The body is not UTF-8, or ended early.", "Send JSON in UTF-8, whole.";
    NotAuthenticated = "not_authenticated" 401 "Not authenticated",
        "The key is missing, unknown, malformed, revoked or expired.", "Send `Authorization: Bearer lsk_…` with a key that was neither revoked nor has expired.";
    MissingScope = "missing_scope" 403 "",
        "The key lacks the scope that `detail` names.", "Use a key that holds the scope: `POST /v1/dev/keys`, or `listen keys create`.";
    NotInvoker = "not_invoker" 403 "Not the task invoker",
        "The identity token is good, but of another identity than the configured invoker.", "Let the task queue call with the configured service account.";
    NotOwner = "not_owner" 403 "Only its owner may do this with an app",
        "Only the app's owner may change it.", "Ask its owner.";
    AppsNotAllowed = "apps_not_allowed" 403 "",
        "The operator has switched apps off, or public ones.", "Ask the operator; `detail` says which setting it is about.";
    MayNotWrite = "app_may_not_write" 403 "The app may not write to this user",
        "The app is not installed by this user, the key is of another app, or there is no such user.", "Use the app's own key, for a user who has installed it.";
    MessagesNotEnabled = "messages_not_enabled" 403 "Chat messages are not enabled for this app",
        "The app's manifest does not enable messages.", "Enable messages in the manifest and refresh it.";
    OtherUser = "other_user" 403 "uid is not the user of this key",
        "The live socket names another user than the key's.", "Send the id of the key's user as `uid`, or use that user's key.";
    OriginNotAllowed = "origin_not_allowed" 403 "This origin is not allowed",
        "A browser page of another origin called the MCP endpoint.", "Call from a listed origin, or from a program.";
    NotFound = "not_found" 404 "",
        "The user has no such object; another user's object counts as missing.", "Check the id; it may have been deleted.";
    UnknownPath = "unknown_path" 404 "Not Found",
        "There is no such path.", "Compare the path with `/docs`.";
    MethodNotAllowed = "method_not_allowed" 405 "Method Not Allowed",
        "The path exists, but not with this method.", "Use a method that the header `Allow` names.";
    TooSlow = "body_too_slow" 408 "Request body took too long",
        "The body did not arrive within a minute; the connection is closed.", "Send it again, in one go.";
    StillRunning = "request_still_running" 409 "A request with this Idempotency-Key is still running",
        "The first request under this `Idempotency-Key` has not been answered yet.", "Repeat it after `Retry-After`: the answer will be the first request's.";
    TurnRunning = "turn_running" 409 "A turn is already running in this chat",
        "A chat answers one message at a time.", "Send the message after `Retry-After`.";
    NotInProgress = "conversation_not_in_progress" 409 "Conversation is no longer in progress",
        "Nothing is appended to a conversation that was finalized.", "Create another conversation.";
    NotFinished = "conversation_not_finished" 409 "Conversation is still in progress: finalize it first",
        "Only a completed or failed conversation is processed again.", "Finalize it, or wait until it is processed.";
    KeysRequired = "own_keys_required" 409 "This user's conversations are processed with the user's own keys only",
        "The user requires their own model key, and the request brought none.", "Send it in `X-BYOK-OpenAI`.";
    DeliveryUnderWay = "delivery_under_way" 409 "Delivery is still under way",
        "Only a finished delivery is delivered once more.", "Wait until it is delivered or exhausted.";
    WebhookDisabled = "webhook_disabled" 409 "The webhook is disabled: enable it first",
        "A test of a disabled webhook would wait until the webhook is enabled.", "Send `{\"enabled\": true}` to the webhook, then test it.";
    WebhookExists = "webhook_exists" 409 "There is a webhook with this URL already: send \"force\": true to have both",
        "Every event would be sent to the URL twice.", "Change the webhook that is there, or send `\"force\": true`.";
    WebhookOfApp = "webhook_of_app" 409 "The webhook belongs to an installed app: uninstall the app instead",
        "A webhook that an app's installation made goes with the app.", "Uninstall the app.";
    AppSwitchedOff = "app_switched_off" 409 "The app is switched off",
        "The operator has switched this app off.", "Ask the operator.";
    AppChanged = "app_changed" 409 "The app was changed by another request meanwhile",
        "Another request changed the app first; this change was not made.", "Read the app and send the change again.";
    TooManyWebhooks = "too_many_webhooks" 409 "There are 20 webhooks already",
        "A user has at most 20 webhooks.", "Delete one.";
    TooManyKeys = "too_many_keys" 409 "There are 100 live keys already",
        "A user has at most 100 live keys.", "Revoke one.";
    TooManyAppKeys = "too_many_app_keys" 409 "There are 20 live keys already",
        "An app has at most 20 live keys.", "Revoke one.";
    TooManySubscriptions = "too_many_push_subscriptions" 409 "There are 20 push subscriptions already",
        "A user has at most 20 push subscriptions.", "Delete one.";
    TooManyApps = "too_many_apps" 409 "There are 50 apps already",
        "A user owns at most 50 apps.", "Delete one.";
    TooManyInstalls = "too_many_installed_apps" 409 "There are 50 installed apps already",
        "A user installs at most 50 apps.", "Uninstall one.";
    TooLarge = "body_too_large" 413 "Request body too large",
        "The body is larger than 4 MiB, or has more values than the service parses.", "Send less in one request.";
    Invalid = "invalid_request" 422 "",
        "`detail` lists every failing field with its type, place and message.", "Change these fields; the same request fails again.";
    StorageFull = "storage_limit_reached" 422 "",
        "The user's stored bytes would exceed their limit.", "Delete conversations, or ask the operator for a higher limit.";
    NoUpgrade = "upgrade_required" 426 "This address takes WebSocket connections only",
        "The live socket's address was asked for without an upgrade.", "Connect with a WebSocket client; a proxy in between must pass the upgrade on.";
    TooManyRequests = "rate_limited" 429 "Too many requests",
        "The keys of this user send more requests than allowed.", "Wait for `Retry-After`; `RateLimit` says what is left.";
    TooManyMessages = "app_messages_limit_reached" 429 "An app may send 10 messages an hour to a user",
        "The app has sent its messages of this hour to the user.", "Wait for `Retry-After`.";
    DailyLimit = "daily_limit_reached" 429 "",
        "The user has created as many conversations today as they may.", "Wait for `Retry-After`: the count starts anew at midnight UTC.";
    WaitingLimit = "processing_limit_reached" 429 "",
        "As many of the user's conversations are being processed as may be.", "Wait until some are done.";
    TooManySockets = "too_many_live_sessions" 429 "Too many live sessions of this user",
        "The user has as many live sockets as one may have.", "Close one, or wait for `Retry-After`.";
    TooManySearches = "too_many_searches" 429 "Too many searches of this user at once",
        "Two searches of a user run at once, and this one has waited five seconds for its turn.", "Send one search after the other; wait for `Retry-After`.";
    Internal = "internal_error" 500 "",
        "A defect of the service; nothing is wrong with the request.", "Report the request's id to the operator, whose log has the cause.";
    FinalizationUnavailable = "finalization_unavailable" 503 "Durable dispatch is not configured: set LISTEN_FINALIZATION_DISPATCH_MODE to postgres",
        "Durable dispatch is not configured. Nothing was changed.", "The operator sets `LISTEN_FINALIZATION_DISPATCH_MODE` to `postgres` or `cloud_tasks`; repeating does not help before that.";
    WebPushUnavailable = "web_push_unavailable" 503 "Web push is not configured",
        "The operator has set no key for web push. Nothing was changed.", "The operator sets `LISTEN_VAPID_PRIVATE_KEY`; a subscription of kind `webhook` works without it.";
    NoVerificationKeys = "verification_keys_unavailable" 503 "Verification keys are not available yet",
        "The keys that verify identity tokens could not be fetched yet.", "Repeat after `Retry-After`.";
    NoSocketFree = "no_live_session_free" 503 "No live session is free",
        "The process has as many live sockets as it may, or is stopping.", "Connect again after `Retry-After`.";
    NoTurnFree = "assistant_busy" 503 "The assistant is busy",
        "The process answers as many messages as it may, or a tenth of them for this user, or is stopping.", "Send the message again after `Retry-After`.";
    ByokRunsFull = "own_key_runs_full" 503 "Too many conversations wait for a run with their own keys",
        "Nothing was changed.", "Repeat after `Retry-After`.";
    Overloaded = "overloaded" 503 "Too much data is in flight: try again later",
        "Request bodies and unsent answers hold all the memory that they may.", "Repeat after `Retry-After`, with smaller pages.";
    Unavailable = "unavailable" 503 "The service is temporarily unavailable",
        "The database does not answer, or did not in time; the work may have been done.", "Repeat after `Retry-After`, with an `Idempotency-Key`.";
}

impl Code {
    /// The status that it comes with.
    pub(crate) fn status(self) -> StatusCode {
        StatusCode::from_u16(self.number()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// Where it is explained: a path of the service itself, which holds behind any proxy.
    pub(crate) fn doc_url(self) -> String {
        format!("/docs/errors#{}", self.as_str())
    }

    /// The code of a refusal in an example: by its words, or else the first one of its status without words of its own.
    pub(crate) fn of_example(status: u16, detail: &str) -> Self {
        let of_status = || Self::ALL.iter().copied().filter(move |code| code.number() == status);
        let by_words = of_status().find(|code| code.detail() == detail);
        by_words.or_else(|| of_status().find(|code| code.detail().is_empty())).unwrap_or(Self::Internal)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The page of all codes, in Markdown: `docs/errors.md`.
pub fn page() -> String {
    let mut page = "# Error codes\n\n<!-- Generated: `cargo run -q -- docs errors > docs/errors.md`. Edit api/src/error/code.rs instead. -->\n\n\
         Every error of the API has FastAPI's `detail` and, beside it, `code` (this page's headings: a closed list),\n\
         `doc_url` (a path of the service that answered) and `request_id` (also the header `X-Request-Id`; the log has it).\n\
         `/docs/errors` of a running service shows the same page.\n"
        .to_owned();
    for code in Code::ALL {
        page.push_str(&format!("\n## {}\n\nStatus {}", code.as_str(), code.number()));
        if !code.detail().is_empty() {
            page.push_str(&format!(", `{}`", code.detail()));
        }
        page.push_str(&format!(".\n\n{} {}\n", code.means(), code.then()));
    }
    page
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn error_codes_have_a_name_a_status_and_a_description() {
        let names: HashSet<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(names.len(), Code::ALL.len());
        let mut before = 0;
        for code in Code::ALL {
            assert!((400..600).contains(&code.number()) && code.number() >= before, "{code:?}");
            before = code.number();
            assert!(code.means().ends_with('.') && code.then().ends_with('.'), "{code:?}");
        }
    }

    #[test]
    fn error_examples_carry_the_code_of_their_message() {
        assert_eq!(Code::of_example(409, "There are 20 webhooks already"), Code::TooManyWebhooks);
        assert_eq!(Code::of_example(404, "Webhook not found"), Code::NotFound);
        assert_eq!(Code::of_example(403, "Missing required scope: keys:read"), Code::MissingScope);
    }
}
