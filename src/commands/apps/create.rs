//! `listen apps create`: what `POST /v1/apps` does; the app's servers are asked from here.

use std::path::PathBuf;

use api::{NotOffered, offered};
use clap::{Args, ValueEnum};
use ipnet::IpNet;
use ledger::Ledger;
use outside::{Caller, Guard};
use rand::RngExt;
use records::UserId;
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use store::{AppFields, AppVisibility, NewApp, TooManyApps};

use super::super::{
    ids::must_exist,
    named,
    stdout::say,
    table::{field, print_json},
};
use crate::{
    app_servers::Servers,
    config::Apps,
    exit::Exit,
    process::{chance, install_crypto, new_id},
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
    /// Id of the user.
    #[arg(long, value_name = "ID")]
    pub(super) user: String,
    /// Name of the app.
    #[arg(value_parser = named::name)]
    name: String,
    /// What the app is for.
    #[arg(long, default_value = "", value_name = "WORDS", value_parser = named::description)]
    description: String,
    /// Who sees it and may install it.
    #[arg(long, default_value = "private", value_name = "WHO")]
    visibility: Visibility,
    /// What paths of its manifest are resolved against.
    #[arg(long, value_name = "URL", value_parser = named::url)]
    home_url: Option<String>,
    /// Where its manifest is, such as https://example.com/.well-known/service-tools.json.
    #[arg(long, value_name = "URL", value_parser = named::url)]
    manifest_url: Option<String>,
    /// Where its users' conversations are posted.
    #[arg(long, value_name = "URL", value_parser = named::url)]
    webhook_url: Option<String>,
    /// Where a user connects to it.
    #[arg(long, value_name = "URL", value_parser = named::url)]
    setup_url: Option<String>,
    /// Asked with `?uid=` before it is installed: it must answer `{"is_setup_completed": true}`.
    #[arg(long, value_name = "URL", value_parser = named::url)]
    setup_completed_url: Option<String>,
    /// The prompt of a summary that it writes of every conversation.
    #[arg(long, value_name = "WORDS", value_parser = named::prompt)]
    summary_prompt: Option<String>,
    /// An MCP server (streamable HTTP) whose tools it lends.
    #[arg(long, value_name = "URL", value_parser = named::url)]
    mcp_url: Option<String>,
    /// A file with the bearer token for that server; `-` is the standard input.
    #[arg(long, value_name = "FILE", requires = "mcp_url")]
    mcp_token_file: Option<PathBuf>,
    /// Who may make apps here, as the service is set.
    #[arg(long, env = "LISTEN_APPS", default_value = "private", value_name = "WHO")]
    apps: Apps,
    /// Addresses that URLs may reach besides public ones.
    #[arg(long, env = "LISTEN_ALLOW_OUTGOING", value_delimiter = ',', value_name = "CIDR,…")]
    allow_outgoing: Vec<IpNet>,
}

pub(super) async fn run(ledger: &Ledger, create: Create, as_json: bool) -> anyhow::Result<()> {
    install_crypto();
    create.may_be_made(ledger)?;
    let owner = UserId::new(&create.user);
    must_exist(ledger, &owner).await?;
    let guard = Guard::new(create.allow_outgoing.clone());
    let fields = create.fields();
    let urls = [
        &fields.home_url,
        &fields.manifest_url,
        &fields.webhook_url,
        &fields.setup_url,
        &fields.setup_completed_url,
        &fields.mcp_url,
    ];
    for url in urls.into_iter().flatten() {
        guard.check_url(url).map_err(|why| Exit::Usage(format!("{url}: {why}{}", allowed(why))))?;
    }
    let mcp_token = create.token()?;
    let servers = Servers(Caller::new(guard.clone())?);
    let may_call = |url: &str| guard.check_url(url).is_ok();
    let manifest =
        offered(&servers, &may_call, &owner, &fields, mcp_token.as_ref()).await.map_err(refused)?;
    let id = new_id().to_string();
    let secret = outside::new_secret(chance().random());
    let new = NewApp { id, fields, mcp_token, manifest, secret };
    let made = ledger.store().create_app(&owner, &new).await?;
    let made = made.map_err(|TooManyApps| Exit::Refused(format!("{owner} has 50 apps already")))?;
    let shown = match as_json {
        true => print_json(&json!({ "app": made.id, "secret": new.secret.expose_secret() })),
        false => say!("{}", made.id).and_then(|()| field("secret", new.secret.expose_secret())),
    };
    match shown {
        Ok(()) => Ok(()),
        Err(error) => Err(error.context(unseen(ledger, &owner, &made.id).await)),
    }
}

/// What lets such a URL through after all.
fn allowed(why: outside::Refused) -> &'static str {
    match why {
        outside::Refused::Scheme | outside::Refused::Address => {
            "; LISTEN_ALLOW_OUTGOING (--allow-outgoing 127.0.0.0/8) allows other addresses, those over http, too"
        }
        outside::Refused::Malformed | outside::Refused::Credentials => "",
    }
}

/// Without its secret an app is useless to its server: it is deleted. Reports the outcome.
async fn unseen(ledger: &Ledger, owner: &UserId, id: &str) -> String {
    match ledger.store().delete_app(owner, id).await {
        Ok(_) => format!("the secret of the app {id} could not be shown, and the app was deleted again"),
        Err(_) => format!("the secret of the app {id} could not be shown, and the app is there"),
    }
}

fn refused(not: NotOffered) -> Exit {
    let lines: Vec<String> = not.problems.iter().map(|problem| format!("  - {problem}")).collect();
    Exit::Refused(format!(
        "what --{} leads to cannot be taken:\n{}",
        not.field.replace('_', "-"),
        lines.join("\n")
    ))
}

impl Create {
    /// Refuses what the service would refuse.
    fn may_be_made(&self, ledger: &Ledger) -> Result<(), Exit> {
        let refused = match (self.apps, self.visibility) {
            (Apps::Off, _) => "apps are switched off on this instance (LISTEN_APPS=off)",
            (Apps::Private, Visibility::Public) => {
                "public apps are not allowed on this instance: LISTEN_APPS=public allows them"
            }
            (Apps::Public, Visibility::Public) if !ledger.db().shard().is_only() => {
                "with several shards, users make apps for themselves alone"
            }
            _ => return Ok(()),
        };
        Err(Exit::Refused(refused.to_owned()))
    }

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
            setup_completed_url: self.setup_completed_url.clone(),
            summary_prompt: self.summary_prompt.clone(),
            mcp_url: self.mcp_url.clone(),
        }
    }

    /// The token for the MCP server.
    fn token(&self) -> anyhow::Result<Option<SecretString>> {
        let Some(file) = &self.mcp_token_file else { return Ok(None) };
        let read = match file.as_os_str() == "-" {
            true => std::io::read_to_string(std::io::stdin()),
            false => std::fs::read_to_string(file),
        };
        let text = read.map_err(|why| Exit::Usage(format!("{}: {why}", file.display())))?;
        let token = text.trim();
        // It is sent in a header.
        if token.is_empty() || token.len() > 2_048 || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            let words = "the MCP token must be 1 to 2,048 visible ASCII characters";
            return Err(Exit::Usage(words.to_owned()).into());
        }
        Ok(Some(SecretString::from(token)))
    }
}
