//! Conversations as their owner sees and changes them.

mod in_progress;
mod one;
mod page;
pub(crate) mod row;
pub(crate) mod shapes;
mod spoken;

pub use in_progress::InProgress;

use std::convert::Infallible;

use records::{ActionItem, Category, Conversation, ConversationId, FolderId, Segment, Timestamp, UserId};
use sqlx::{FromRow, Postgres, QueryBuilder, postgres::PgRow};

use crate::{
    Ledger,
    error::{Doing, Error},
    folders::hold_folder,
};

/// Bounds on `created_at`, both inclusive, with offset paging.
#[derive(Clone, Debug, Default)]
pub struct DatePage {
    /// Not before.
    pub start: Option<Timestamp>,
    /// Not after.
    pub end: Option<Timestamp>,
    /// At most this many.
    pub limit: i64,
    /// Skip this many; of a page that goes on `after` a row, none.
    pub offset: i64,
    /// Go on after this row.
    pub after: Option<After>,
}

impl DatePage {
    /// How many rows are read and not shown.
    pub(crate) fn skipped(&self) -> i64 {
        if self.after.is_some() { 0 } else { self.offset }
    }
}

/// The last row of a page, by what its list is ordered by: newest first, then by place and id. It need not exist any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct After {
    /// When it was made.
    pub created_at: Timestamp,
    /// Its place among those of the same moment; 0 where a list knows none.
    pub position: i32,
    /// Its id.
    pub id: String,
}

impl Ledger {
    /// The rows of a list's statement.
    pub(crate) async fn rows_of<R>(
        &self,
        mut list: QueryBuilder<Postgres>,
        doing: &'static str,
    ) -> Result<Vec<R>, Error>
    where
        R: for<'r> FromRow<'r, PgRow> + Send + Unpin,
    {
        list.build_query_as().fetch_all(&self.pool).await.doing(doing)
    }
}

/// Ends a list's statement. The number of rows stands in its text and not among its parameters: the server keeps one plan
/// for a statement, and one for any number of rows is made for a tenth of the table, and reads what hangs on it
/// whole.
pub(crate) fn push_rows(query: &mut QueryBuilder<Postgres>, limit: i64, offset: i64) {
    query.push(" limit ").push(limit);
    if offset > 0 {
        query.push(" offset ").push_bind(offset);
    }
}

/// Ends the statement of a page, as [`push_rows`] does.
pub(crate) fn push_page(query: &mut QueryBuilder<Postgres>, page: &DatePage) {
    push_rows(query, page.limit, page.skipped());
}

/// The condition that a row comes behind `after` in a list that is ordered by `created_at desc` and then by `place`, a pair of
/// place and id.
pub(crate) fn push_after(query: &mut QueryBuilder<Postgres>, after: Option<&After>, place: &'static str) {
    let Some(after) = after else { return };
    query.push(" and created_at <= ").push_bind(after.created_at);
    query.push(" and (created_at < ").push_bind(after.created_at);
    query.push(" or ").push(place).push(" > (").push_bind(after.position);
    query.push(", ").push_bind(after.id.clone()).push("))");
}

/// Which status the conversations of a list have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatusFilter {
    /// Completed, and not discarded (spec).
    #[default]
    Completed,
    /// Being processed.
    Processing,
    /// Given up; they are discarded.
    Failed,
    /// Not finalized yet.
    InProgress,
    /// Every status, discarded ones too.
    Any,
}

/// Which conversations to list: by default only completed, not discarded ones (spec).
#[derive(Clone, Debug, Default)]
pub struct ConversationFilter {
    /// Dates and paging.
    pub page: DatePage,
    /// In this status.
    pub status: StatusFilter,
    /// Any of these categories; empty is all.
    pub categories: Vec<Category>,
    /// In this folder.
    pub folder_id: Option<FolderId>,
    /// Starred, not starred, or both.
    pub starred: Option<bool>,
    /// Whether to read the segments.
    pub with_transcript: bool,
}

/// A conversation with everything that the developer interface shows of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ConversationView {
    /// The record.
    pub conversation: Conversation,
    /// Its folder's name.
    pub folder_name: Option<String>,
    /// Read live from the action items, oldest first.
    pub action_items: Vec<ActionItem>,
    /// Its segments, when asked for.
    pub segments: Option<Vec<Segment>>,
    /// The owner's own name (for speaker names).
    pub user_name: Option<String>,
    /// Names of known people by id, of those that the segments name.
    pub people: Vec<(String, String)>,
    /// What apps made of it: (app id, content).
    pub apps_results: Vec<(Option<String>, String)>,
}

/// What a PATCH changes; `None` leaves it.
#[derive(Clone, Debug, Default)]
pub struct ConversationChange {
    /// 1–500 characters.
    pub title: Option<String>,
    /// Hide or show.
    pub discarded: Option<bool>,
    /// Mark.
    pub starred: Option<bool>,
    /// File, or take out (`Some(None)`).
    pub folder_id: Option<Option<FolderId>>,
}

impl ConversationFilter {
    /// The text of the statement that lists a user's conversations without their transcripts, for tests that
    /// explain or measure it. Without dates, filters and an offset, every parameter in it is the user's id.
    pub fn statement(&self, user: &UserId) -> String {
        page::page(user, self).sql().as_str().to_owned()
    }
}

impl Ledger {
    /// A page of conversations, created_at descending, then id.
    ///
    /// # Errors
    /// When the database does not answer, or a row cannot be read.
    pub async fn conversations(
        &self,
        user: &UserId,
        filter: &ConversationFilter,
    ) -> Result<Vec<ConversationView>, Error> {
        let Ok(views) = self.list(user, filter, |_| Ok::<(), Infallible>(())).await?;
        Ok(views)
    }

    /// [`conversations`](Self::conversations), where `reserve` is asked for the memory that their transcripts will take
    /// before these are loaded. Returns its refusal.
    ///
    /// # Errors
    /// When the database does not answer, or a row cannot be read; [`Error::TooMuch`].
    pub async fn conversations_within<R>(
        &self,
        user: &UserId,
        filter: &ConversationFilter,
        reserve: impl FnOnce(usize) -> Result<(), R>,
    ) -> Result<Result<Vec<ConversationView>, R>, Error> {
        self.list(user, filter, reserve).await
    }

    /// One conversation, whatever its status. Those that are asked for together are read together.
    ///
    /// # Errors
    /// When the database does not answer, or the row cannot be read.
    pub async fn conversation(
        &self,
        user: &UserId,
        conversation: &ConversationId,
        with_transcript: bool,
    ) -> Result<Option<ConversationView>, Error> {
        self.one_view(user, conversation, with_transcript).await
    }

    /// Applies a person's change; what a person set survives completion and replay. A folder that the person does not
    /// have (any more) counts as missing. `false`: no such conversation.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn change_conversation(
        &self,
        user: &UserId,
        conversation: &ConversationId,
        change: &ConversationChange,
    ) -> Result<bool, Error> {
        const DOING: &str = "changing a conversation";
        let (mut transaction, now) = self.begin(DOING).await?;
        let folder = match &change.folder_id {
            Some(Some(folder)) if hold_folder(&mut transaction, user, folder).await? => Some(folder.as_str()),
            _ => None,
        };
        // A discarded mark that a person gave or took is no longer the dead letter's to take back.
        let changed = sqlx::query(
            "update conversations set updated_at = $3, \
                 title = coalesce($4, title), title_by_person = title_by_person or $4 is not null, \
                 indexed_revision = case when $4 is null then indexed_revision end, \
                 discarded = coalesce($5, discarded), discarded_by_person = discarded_by_person or $5 is not null, \
                 discarded_by_failure = discarded_by_failure and $5 is null, \
                 starred = coalesce($6, starred), \
                 folder_id = case when $7 then $8 else folder_id end, folder_by_person = folder_by_person or $7 \
             where user_id = $1 and conversation_id = $2",
        )
        .bind(user.as_str())
        .bind(conversation.as_str())
        .bind(now)
        .bind(change.title.as_deref())
        .bind(change.discarded)
        .bind(change.starred)
        .bind(change.folder_id.is_some())
        .bind(folder)
        .execute(&mut *transaction)
        .await
        .doing(DOING)?;
        transaction.commit().await.doing(DOING)?;
        Ok(changed.rows_affected() > 0)
    }
}
