//! `listen apps create`: what `POST /v1/apps` does, with its manifest fetched from here.

use api::{AppServers, NoManifest};
use clap::{Args, ValueEnum};
use ipnet::IpNet;
use ledger::Ledger;
use outside::{Caller, Guard};
use rand::RngExt;
use records::UserId;
use secrecy::ExposeSecret;
use serde_json::json;
use store::{AppFields, AppVisibility, KeptManifest, NewApp, TooManyApps};

use super::super::{
    named,
    stdout::say,
    table::{field, print_json},
    users::nobody,
};
use crate::{
    app_servers::Servers,
    exit::Exit,
    wiring::{chance, install_crypto},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Visibility {
    /// Its owner alone.
    Private,
    /// Every user of this instance.
    Public,
}

/// An app to be made.
#[derive(Args, Debug)]
pub(super) struct Create {
    /// Whose.
    #[arg(long, value_name = "ID")]
    pub(super) user: String,
    /// What to call it.
    #[arg(value_parser = named::name)]
    name: String,
    /// What it is for.
    #[arg(long, default_value = "", value_name = "WORDS")]
    description: String,
    /// Who sees it and may install it.
    #[arg(long, default_value = "private", value_name = "WHO")]
    visibility: Visibility,
    /// What paths of its manifest are resolved against.
    #[arg(long, value_name = "URL")]
    home_url: Option<String>,
    /// Where its manifest is, such as https://example.com/.well-known/service-tools.json.
    #[arg(long, value_name = "URL")]
    manifest_url: Option<String>,
    /// Where its users' conversations are posted.
    #[arg(long, value_name = "URL")]
    webhook_url: Option<String>,
    /// Where a user connects to it.
    #[arg(long, value_name = "URL")]
    setup_url: Option<String>,
    /// The prompt of a summary that it writes of every conversation.
    #[arg(long, value_name = "WORDS")]
    summary_prompt: Option<String>,
    /// Addresses that URLs may reach besides public ones.
    #[arg(long, env = "LISTEN_ALLOW_OUTGOING", value_delimiter = ',', value_name = "CIDR,…")]
    allow_outgoing: Vec<IpNet>,
}

/// Makes it.
///
/// # Errors
/// When the database does not answer, there is no such user, or the app or its manifest cannot be taken.
pub(super) async fn run(ledger: &Ledger, create: Create, as_json: bool) -> anyhow::Result<()> {
    install_crypto();
    let owner = UserId::new(&create.user);
    if ledger.store().user(&owner).await?.is_none() {
        return Err(nobody(&owner).into());
    }
    let guard = Guard::new(create.allow_outgoing.clone());
    let fields = create.fields();
    let urls = [&fields.home_url, &fields.manifest_url, &fields.webhook_url, &fields.setup_url];
    for url in urls.into_iter().flatten() {
        guard.check_url(url).map_err(|why| Exit::Usage(format!("{url}: {why}")))?;
    }
    let manifest = match &fields.manifest_url {
        None => None,
        Some(url) => {
            let servers = Servers(Caller::new(guard.clone())?);
            let body = servers.manifest(&owner, url).await.map_err(|why| Exit::Refused(unread(why)))?;
            Some(checked(&body, fields.home_url.as_deref(), &guard)?)
        }
    };
    let id = uuid::Builder::from_random_bytes(chance().random()).into_uuid().to_string();
    let secret = outside::new_secret(chance().random());
    let new = NewApp { id, fields, manifest, secret };
    let made = ledger.store().create_app(&owner, &new).await?;
    let made = made.map_err(|TooManyApps| Exit::Refused(format!("{owner} has 50 apps already")))?;
    match as_json {
        true => print_json(&json!({ "app": made.id, "secret": new.secret.expose_secret() })),
        false => {
            say!("{}", made.id)?;
            field("secret", new.secret.expose_secret())
        }
    }
}

fn checked(body: &[u8], home_url: Option<&str>, guard: &Guard) -> anyhow::Result<KeptManifest> {
    let manifest = apps::check(body, home_url, |url| guard.check_url(url).is_ok()).map_err(|problems| {
        let lines: Vec<String> =
            problems.into_iter().map(|problem| format!("  - {}", problem.text)).collect();
        Exit::Refused(format!("the manifest cannot be taken:\n{}", lines.join("\n")))
    })?;
    Ok(KeptManifest {
        text: manifest.to_text(),
        sha256: manifest.sha256(),
        chat_enabled: manifest.chat_messages.enabled,
        chat_target: manifest.chat_messages.target.as_str(),
        chat_notify: manifest.chat_messages.notify,
    })
}

fn unread(why: NoManifest) -> String {
    match why {
        NoManifest::Status(status) => format!("the manifest's server answered {status} instead of 200"),
        NoManifest::Redirect => {
            "the manifest's server answered with a redirect, which is not followed".to_owned()
        }
        NoManifest::Timeout => "the manifest's server did not answer within 10 seconds".to_owned(),
        NoManifest::TooLong => "the manifest is longer than 256 KiB".to_owned(),
        NoManifest::Broken | NoManifest::Unreachable => "the manifest could not be fetched".to_owned(),
    }
}

impl Create {
    fn fields(&self) -> AppFields {
        AppFields {
            name: self.name.clone(),
            description: self.description.clone(),
            visibility: match self.visibility {
                Visibility::Private => AppVisibility::Private,
                Visibility::Public => AppVisibility::Public,
            },
            home_url: self.home_url.clone(),
            manifest_url: self.manifest_url.clone(),
            webhook_url: self.webhook_url.clone(),
            setup_url: self.setup_url.clone(),
            setup_completed_url: None,
            summary_prompt: self.summary_prompt.clone(),
            ..AppFields::default()
        }
    }
}
