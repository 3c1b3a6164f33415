//! The resources, one file each: the registrations of their endpoints, then the handlers.

mod action_items;
mod answer;
mod app_fields;
mod app_keys;
mod app_manifest;
mod apps;
mod audio_webhook;
mod byok;
mod conversations;
mod create;
mod deliveries;
mod docs;
mod documents;
mod finalize;
mod folders;
mod goals;
mod keys;
mod links;
mod listen;
mod location;
mod mcp;
mod me;
mod measure;
mod memories;
mod messages;
mod notification;
mod path;
mod people;
mod process;
mod push;
pub(crate) mod run;
mod search;
mod segments;
mod status;
mod tagged;
mod waiting;
mod webhooks;

pub(crate) use documents::pages;

use crate::{Endpoint, Settings};

/// The headings of the document, in the order in which people read it.
pub(crate) const GROUPS: [(&str, &str); 13] = [
    (CONVERSATIONS, "What was said or written, and what was understood of it."),
    (FINALIZATION, "Processing what was stored first, and asking how far it is."),
    (LIVE, "Sockets that take audio or transcripts as they come."),
    (ACTION_ITEMS, "What is to be done: heard in conversations, or created."),
    (MEMORIES, "Facts about the user: heard in conversations, or created."),
    (GOALS, "What the user strives for, in numbers."),
    (FOLDERS, "Where conversations are filed."),
    (ASSISTANT, "Questions about what is stored, and full-text search."),
    (WEBHOOKS, "Endpoints of the user that receive events, and what was delivered to them."),
    (PROFILE, "The user's settings, the people whom they know, and where they are reminded."),
    (KEYS, "The keys with which this interface is called."),
    (APPS, "Apps of third parties: tools for the assistant, webhooks and summaries."),
    (SERVICE, "The service itself."),
];

const CONVERSATIONS: &str = "Conversations";
const FINALIZATION: &str = "Finalization";
const LIVE: &str = "Live audio";
const ACTION_ITEMS: &str = "Action items";
const MEMORIES: &str = "Memories";
const GOALS: &str = "Goals";
const FOLDERS: &str = "Folders";
const ASSISTANT: &str = "Assistant";
const WEBHOOKS: &str = "Webhooks";
const PROFILE: &str = "Profile";
const KEYS: &str = "Keys";
const APPS: &str = "Apps";
const SERVICE: &str = "Service";

/// Every endpoint of the public interface. `P` of the documents is `/v1/dev/user`.
pub(crate) fn endpoints(settings: &Settings) -> Vec<Endpoint> {
    [
        under(CONVERSATIONS, create::endpoints(settings)),
        under(CONVERSATIONS, conversations::endpoints()),
        under(CONVERSATIONS, segments::endpoints()),
        under(FINALIZATION, finalize::endpoints()),
        under(FINALIZATION, process::endpoints()),
        under(LIVE, listen::endpoints(settings)),
        under(LIVE, audio_webhook::endpoints()),
        under(ACTION_ITEMS, action_items::endpoints()),
        under(MEMORIES, memories::endpoints()),
        under(GOALS, goals::endpoints()),
        under(FOLDERS, folders::endpoints()),
        under(ASSISTANT, messages::endpoints()),
        under(ASSISTANT, search::endpoints()),
        under(ASSISTANT, mcp::endpoints()),
        under(WEBHOOKS, webhooks::endpoints()),
        under(WEBHOOKS, deliveries::endpoints()),
        under(PROFILE, me::endpoints()),
        under(PROFILE, people::endpoints()),
        under(PROFILE, push::endpoints()),
        under(KEYS, keys::endpoints()),
        under(APPS, apps::endpoints()),
        under(APPS, app_keys::endpoints()),
        under(APPS, notification::endpoints()),
        under(APPS, location::endpoints()),
        under(SERVICE, status::endpoints()),
    ]
    .concat()
}

/// The internal route at which jobs are delivered.
pub(crate) fn deliveries() -> Vec<Endpoint> {
    run::endpoints()
}

fn under(tag: &'static str, endpoints: Vec<Endpoint>) -> Vec<Endpoint> {
    endpoints.into_iter().map(|endpoint| endpoint.under(tag)).collect()
}
