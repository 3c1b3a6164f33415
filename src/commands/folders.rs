//! `listen folders`: a user's folders. The developer interface reads them; they are managed here.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use ledger::Ledger;
use operations::IdKind;
use records::{FolderId, UserId};
use serde_json::json;
use store::{DeletedFolder, FolderChange, FolderView, NewFolder};

use super::{
    ids::{self, must_exist, no_such_user},
    named::{bounded, name},
    stdout::say,
    table::{self, Column, CommonArgs, id, number, print_json, text, word},
};
use crate::{exit::Exit, process::new_id};

/// A user's folders.
#[derive(Args, Debug)]
pub(crate) struct Folders {
    #[command(flatten)]
    common: CommonArgs,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List a user's folders in their order.
    List {
        /// Id of the user.
        #[arg(long)]
        user: String,
    },
    /// Create a folder; prints its id.
    Create {
        /// Id of the user.
        #[arg(long)]
        user: String,
        /// Name of the folder.
        #[arg(value_parser = name)]
        name: String,
        #[command(flatten)]
        look: Look,
    },
    /// Change a folder.
    Update {
        /// Id of the user.
        #[arg(long)]
        user: String,
        /// Id of the folder.
        id: String,
        /// Name of the folder.
        #[arg(long, value_parser = name)]
        name: Option<String>,
        #[command(flatten)]
        look: Look,
        /// Remove the description, so that nothing is filed there automatically.
        #[arg(long, conflicts_with = "description")]
        no_description: bool,
    },
    /// Delete a folder; its conversations stay and are in none.
    Delete {
        /// Id of the user.
        #[arg(long)]
        user: String,
        /// Id of the folder.
        id: String,
    },
}

/// What both creating and changing can set.
#[derive(Args, Debug)]
struct Look {
    /// Rule in words; conversations that fit it are filed there.
    #[arg(long, value_name = "WORDS", value_parser = description)]
    description: Option<String>,
    /// Color as #RRGGBB.
    #[arg(long, value_parser = color)]
    color: Option<String>,
    /// Name of an icon.
    #[arg(long, value_parser = icon)]
    icon: Option<String>,
    /// Position among the user's folders, from 0.
    #[arg(long, value_parser = clap::value_parser!(i32).range(0..))]
    order: Option<i32>,
}

pub(crate) async fn run(folders: Folders) -> anyhow::Result<ExitCode> {
    let (common, as_json) = (&folders.common, folders.common.json);
    match folders.verb {
        Verb::List { user } => {
            let (operations, user) = ids::find_user(common, &user).await?;
            list(&operations, &user, as_json).await
        }
        Verb::Create { user, name, look } => {
            let (operations, user) = ids::place_user(common, user).await?;
            let made = operations.store().create_folder(&user, &look.of_new(name)).await?;
            tell(&made.ok_or_else(|| no_such_user(&user))?, as_json)
        }
        Verb::Update { user, id, name, look, no_description } => {
            let change = look.change(name, no_description);
            if change == FolderChange::default() {
                return Err(Exit::Usage("name at least one field to change".to_owned()).into());
            }
            let (operations, user, id) = ids::place_of_user(common, user, IdKind::Folder, &id).await?;
            let changed = operations.store().change_folder(&user, &FolderId::new(&id), &change).await?;
            tell(&changed.ok_or_else(|| unknown(&id))?, as_json)
        }
        Verb::Delete { user, id } => {
            let (operations, user, id) = ids::place_of_user(common, user, IdKind::Folder, &id).await?;
            delete(&operations, &user, &id, as_json).await
        }
    }?;
    Ok(ExitCode::SUCCESS)
}

async fn list(ledger: &Ledger, user: &UserId, as_json: bool) -> anyhow::Result<()> {
    let folders = ledger.store().folders(user).await?;
    if folders.is_empty() {
        must_exist(ledger, user).await?;
    }
    if as_json {
        return table::print_page(
            "folders",
            folders.iter().map(|folder| json!(api::shapes::folder(folder))).collect(),
            None,
        );
    }
    let rows = folders
        .into_iter()
        .map(|folder| {
            let kind = if folder.is_system { "built in" } else { "own" };
            let count = folder.conversation_count.to_string();
            let rule = folder.description.unwrap_or_default();
            vec![folder.id.as_str().to_owned(), folder.name, kind.to_owned(), count, rule]
        })
        .collect();
    table::print(&COLUMNS, rows)
}

/// Which folder, and what is filed there.
pub(crate) const COLUMNS: [Column; 5] =
    [id("id", 0), text("name", 1), word("kind", 4), number("conversations", 3), text("description", 2)];

async fn delete(ledger: &Ledger, user: &UserId, id: &str, as_json: bool) -> anyhow::Result<()> {
    match ledger.store().delete_folder(user, &FolderId::new(id)).await? {
        DeletedFolder::Unknown => Err(unknown(id).into()),
        DeletedFolder::System => {
            let words = "is one of the folders that every user has: it can be changed, not deleted";
            Err(Exit::Refused(format!("{id} {words}")).into())
        }
        DeletedFolder::Deleted { taken_out } if as_json => {
            print_json(&json!({ "id": id, "deleted": true, "conversations_taken_out": taken_out }))
        }
        DeletedFolder::Deleted { taken_out } => {
            say!("deleted {id}; conversations taken out of it: {taken_out}")
        }
    }
}

/// The folder as it is now: its id alone, for scripts, or all of it.
fn tell(folder: &FolderView, as_json: bool) -> anyhow::Result<()> {
    match as_json {
        true => print_json(&json!(api::shapes::folder(folder))),
        false => say!("{}", folder.id),
    }
}

impl Look {
    fn of_new(self, name: String) -> NewFolder {
        NewFolder {
            id: FolderId::new(new_id().to_string()),
            name,
            description: self.description,
            color: self.color,
            icon: self.icon,
            order: self.order,
        }
    }

    fn change(self, name: Option<String>, no_description: bool) -> FolderChange {
        let description = match no_description {
            true => Some(None),
            false => self.description.map(Some),
        };
        FolderChange { name, description, color: self.color, icon: self.icon, order: self.order }
    }
}

fn unknown(id: &str) -> Exit {
    Exit::NotFound(format!("the user has no folder {id}: `listen folders list` shows the ids"))
}

fn description(words: &str) -> Result<String, String> {
    bounded(words, 1, 500)
}

fn icon(words: &str) -> Result<String, String> {
    bounded(words, 1, 50)
}

fn color(words: &str) -> Result<String, String> {
    let digits = words.strip_prefix('#').unwrap_or(words);
    match digits.len() == 6 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        true => Ok(format!("#{}", digits.to_ascii_uppercase())),
        false => Err("six hexadecimal digits, for example #6B7280".to_owned()),
    }
}
