//! Full text over what a user has: passages of conversations, memories and action items.

mod index;
mod lists;
mod passage;
mod spelling;
mod things;

use db::{Error, query_as, sql};
use futures::future::try_join_all;
use records::{Timestamp, UserId};

pub use self::index::ITEMS_NOT_READ;
pub use self::lists::{ConversationLine, TaskFilter};
use self::things::COMPARED;
pub(crate) use self::things::forget_words;
use crate::Store;

#[derive(Clone, Debug, Default)]
pub struct SearchQuery {
    /// Words as people type them: "quotes" keep words together, `or` and `-` work.
    pub words: String,
    /// A language code: words are compared by its rules, and as they stand.
    pub language: String,
    /// Not before this moment.
    pub start: Option<Timestamp>,
    /// Before this moment.
    pub end: Option<Timestamp>,
    /// At most this many of each kind.
    pub limit: i64,
    pub conversations: bool,
    pub memories: bool,
    pub action_items: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FoundKind {
    /// A conversation, by a passage of it.
    #[default]
    Conversation,
    Memory,
    ActionItem,
}

#[derive(Clone, Debug, PartialEq, sqlx::FromRow)]
pub struct Found {
    /// Which statement found it.
    #[sqlx(skip)]
    pub kind: FoundKind,
    pub id: String,
    /// A conversation's title; empty for what has none.
    pub title: String,
    /// The passage, verbatim, or the thing's own words.
    pub text: String,
    /// When it happened or was made.
    pub at: Timestamp,
    /// Whether it holds all the words, and not only some.
    pub is_complete: bool,
    /// Of an action item: whether it is done.
    pub completed: bool,
    /// Of an action item: when it is due.
    pub due_at: Option<Timestamp>,
}

/// How much the place in its list counts against being in a list at all (reciprocal rank fusion).
const FUSION: f64 = 60.0;

/// Searches are planned anew each time (0.7 ms): the planner counts how often their words stand in the index, and reads them once. A
/// plan for any words takes three to eight times as long, because it reads the words again for every row.
const KEPT_PLANS: bool = false;

/// A person's words as queries.
pub(crate) struct Words {
    all: String,
    any: String,
    configuration: &'static str,
}

impl Store {
    /// Searches, best first: what holds all the words before what holds some of them.
    pub async fn search(&self, user: &UserId, query: &SearchQuery) -> Result<Vec<Found>, Error> {
        let Some(words) = self.words_of(&query.words, &query.language).await? else { return Ok(Vec::new()) };
        let kinds = [
            (query.conversations, FoundKind::Conversation, sql!("search/passages.sql")),
            (query.memories, FoundKind::Memory, sql!("search/memories.sql")),
            (query.action_items, FoundKind::ActionItem, sql!("search/items.sql")),
        ];
        let asked = kinds.into_iter().filter(|(is_asked, ..)| *is_asked);
        let lists = asked.map(|(_, kind, sql)| self.found(user, query, &words, kind, sql));
        Ok(fused(try_join_all(lists).await?, query.limit))
    }

    /// `None`: there is no word to search for.
    pub(crate) async fn words_of(&self, words: &str, language: &str) -> Result<Option<Words>, Error> {
        let configuration = configuration_of(language);
        let [by_language, plain] = spelling::queries(words);
        let (all, any): (String, String) = query_as!("search/query.sql", by_language, configuration, plain)
            .fetch_one(self.db.pool())
            .await?;
        Ok((!all.is_empty()).then_some(Words { all, any, configuration }))
    }

    async fn found(
        &self,
        user: &UserId,
        query: &SearchQuery,
        words: &Words,
        kind: FoundKind,
        sql: &'static str,
    ) -> Result<Vec<Found>, Error> {
        let mut rows = sqlx::query_as(sql)
            .bind(user.as_str())
            .bind(&words.all)
            .bind(&words.any)
            .bind(query.start)
            .bind(query.end)
            .bind(query.limit);
        if kind != FoundKind::Conversation {
            rows = rows.bind(words.configuration).bind(COMPARED);
        }
        // In a transaction: behind a pooler another session would execute what this one has parsed.
        let mut transaction = self.db.begin_reading().await?;
        let found: Vec<Found> = rows.persistent(KEPT_PLANS).fetch_all(&mut *transaction).await?;
        Ok(found.into_iter().map(|found| Found { kind, ..found }).collect())
    }
}

/// One list out of several ranked ones.
fn fused(lists: impl IntoIterator<Item = Vec<Found>>, limit: i64) -> Vec<Found> {
    let scored = lists.into_iter().flat_map(|list| {
        list.into_iter().enumerate().map(|(place, found)| (1.0 / (FUSION + place as f64), found))
    });
    let mut all: Vec<(f64, Found)> = scored.collect();
    all.sort_by(|(one, a), (other, b)| b.is_complete.cmp(&a.is_complete).then(other.total_cmp(one)));
    all.into_iter().map(|(_, found)| found).take(usize::try_from(limit).unwrap_or(usize::MAX)).collect()
}

/// The text search configuration of a language, of those that PostgreSQL brings; `simple` compares words as they stand.
pub(crate) fn configuration_of(language: &str) -> &'static str {
    match language.split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase().as_str() {
        "en" => "english",
        "de" => "german",
        "fr" => "french",
        "es" => "spanish",
        "it" => "italian",
        "pt" => "portuguese",
        "nl" => "dutch",
        "sv" => "swedish",
        "no" | "nb" | "nn" => "norwegian",
        "da" => "danish",
        "fi" => "finnish",
        "hu" => "hungarian",
        "ro" => "romanian",
        "ru" => "russian",
        "tr" => "turkish",
        _ => "simple",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(id: &str, kind: FoundKind, is_complete: bool) -> Found {
        Found {
            kind,
            id: id.to_owned(),
            title: String::new(),
            text: String::new(),
            at: Timestamp::UNIX_EPOCH,
            is_complete,
            completed: false,
            due_at: None,
        }
    }

    #[test]
    fn search_ranks_full_matches_first_of_any_kind() {
        let passages =
            vec![found("c1", FoundKind::Conversation, true), found("c2", FoundKind::Conversation, false)];
        let memories = vec![found("m1", FoundKind::Memory, false)];
        let items = vec![found("a1", FoundKind::ActionItem, true)];
        let ids: Vec<String> =
            fused([passages, memories, items], 3).into_iter().map(|found| found.id).collect();
        assert_eq!(ids, ["c1", "a1", "m1"]);
    }

    #[test]
    fn search_language_ignores_the_region() {
        assert_eq!(configuration_of("de-AT"), "german");
        assert_eq!(configuration_of("EN_us"), "english");
        assert_eq!(configuration_of("ja"), "simple");
        assert_eq!(configuration_of(""), "simple");
    }
}
