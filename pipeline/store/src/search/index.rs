//! Indexing: the passages of completed conversations are written behind their completion. What was completed before the
//! index existed, or again, is found by the same look.

use db::{Error, array, query, query_as, sql};
use futures::TryStreamExt;
use records::Timestamp;
use sqlx::PgConnection;

use super::{configuration_of, passage::passages, spelling::plain};
use crate::Store;

/// Words that are held at once while a batch is read: a conversation that alone has more is a batch of its own.
const MOST_BYTES: usize = 512 * 1024;

/// What stands behind an engine's id where it read no items: the last paragraph of the overview says so.
pub const ITEMS_NOT_READ: &str = ", items not read";

/// Passages of one statement: each has its own time limit.
const PASSAGES: usize = 500;

#[derive(sqlx::FromRow)]
struct DueRow {
    user_id: String,
    conversation_id: String,
    finalization_revision: i64,
    started_at: Timestamp,
    language: String,
    title: String,
    overview: String,
    engine: Option<String>,
    private_text: Option<String>,
    discarded: bool,
    user_name: Option<String>,
}

/// What was said, in which of the conversations.
#[derive(sqlx::FromRow)]
struct SegmentRow {
    place: i64,
    content: String,
    is_user: bool,
    person: Option<String>,
}

impl DueRow {
    /// The overview without the paragraph that says that items were not looked for: a search for "appointments" would find all of those.
    fn of_the_talk(&self) -> &str {
        let unread = self.engine.as_ref().is_some_and(|engine| engine.ends_with(ITEMS_NOT_READ));
        let cut = self.overview.rsplit_once("\n\n").filter(|_| unread);
        cut.map_or(self.overview.as_str(), |(overview, _)| overview)
    }
}

impl Store {
    /// Indexes at most `limit` conversations in one transaction, behind the first `passed_over` of those that are due, and returns
    /// how many it did: fewer than `limit` do not mean that none is left. Cut off, it has done nothing; said twice, nothing more.
    pub async fn index_conversations(&self, limit: i64, passed_over: i64) -> Result<usize, Error> {
        let mut transaction = self.db.begin_without_clock().await?;
        let mut due: Vec<DueRow> =
            query_as!("search/due.sql", limit, passed_over).fetch_all(&mut *transaction).await?;
        if due.is_empty() {
            return Ok(0);
        }
        let lines = lines_of(&mut transaction, &due).await?;
        due.truncate(lines.len());
        let users: Vec<&str> = due.iter().map(|row| row.user_id.as_str()).collect();
        let conversations: Vec<&str> = due.iter().map(|row| row.conversation_id.as_str()).collect();
        let revisions: Vec<i64> = due.iter().map(|row| row.finalization_revision).collect();
        query!("search/forget.sql", &users, &conversations).execute(&mut *transaction).await?;
        insert(&mut transaction, &due, &lines).await?;
        query!("search/indexed.sql", &users, &conversations, &revisions).execute(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(due.len())
    }
}

/// What was said in each, with the names of speakers that are known; of fewer conversations where all would be too much.
async fn lines_of(connection: &mut PgConnection, due: &[DueRow]) -> Result<Vec<Vec<String>>, Error> {
    let mut lines: Vec<Vec<String>> = Vec::new();
    let mut bytes = 0;
    let places: Vec<i64> = (0..).take(due.len()).collect();
    let users: Vec<&str> = due.iter().map(|row| row.user_id.as_str()).collect();
    let conversations: Vec<&str> = due.iter().map(|row| row.conversation_id.as_str()).collect();
    let mut rows = sqlx::query_as::<_, SegmentRow>(sql!("search/segments.sql"))
        .bind(&users)
        .bind(&conversations)
        .bind(&places)
        .fetch(connection);
    while let Some(SegmentRow { place, content, is_user, person }) = rows.try_next().await? {
        let place = usize::try_from(place).unwrap_or_default();
        if place >= lines.len() && !lines.is_empty() && bytes > MOST_BYTES {
            // The last one is whole; the next look goes on with those behind it.
            return Ok(lines);
        }
        lines.resize_with(lines.len().max(place + 1), Vec::new);
        bytes += content.len();
        let own = due.get(place).and_then(|row| row.user_name.as_deref()).filter(|_| is_user);
        let line = match person.as_deref().or(own) {
            Some(name) => format!("{name}: {content}"),
            None => content,
        };
        if let Some(lines) = lines.get_mut(place) {
            lines.push(line);
        }
    }
    lines.resize_with(due.len(), Vec::new);
    Ok(lines)
}

async fn insert(connection: &mut PgConnection, due: &[DueRow], lines: &[Vec<String>]) -> Result<(), Error> {
    let mut rows: Vec<(&DueRow, i32, String)> = Vec::new();
    // What is discarded has no passages: searches take the newest matches, and would find these only.
    for (row, lines) in due.iter().zip(lines).filter(|(row, _)| !row.discarded) {
        let head = format!("{}\n{}", row.title, row.of_the_talk());
        let said = match &row.private_text {
            Some(text) => passages(text.lines()),
            None => passages(lines.iter().map(String::as_str)),
        };
        let parts = (0..).zip(std::iter::once(head).chain(said));
        rows.extend(parts.map(|(part, text)| (row, part, text)));
    }
    for some in rows.chunks(PASSAGES) {
        query!(
            "search/insert.sql",
            array(some, |(row, ..)| row.user_id.as_str()),
            array(some, |(row, ..)| row.conversation_id.as_str()),
            array(some, |(_, part, _)| *part),
            array(some, |(row, ..)| row.started_at),
            array(some, |(.., text)| text.as_str()),
            array(some, |(row, ..)| configuration_of(&row.language)),
            // The text of a conversation created from text is never returned (DECISIONS §1).
            array(some, |(row, part, _)| *part == 0 || row.private_text.is_none()),
            array(some, |(.., text)| plain(text))
        )
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}
