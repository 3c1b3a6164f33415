//! What users deleted of what earlier revisions extracted: it is not extracted again (DECISIONS §4, "a later revision").

use std::collections::HashMap;

use db::Error;
use records::{KnownTexts, SameThing};
use sqlx::PgConnection;

use super::{About, Completion, grouped};

#[derive(sqlx::FromRow)]
struct Deleted {
    #[sqlx(flatten)]
    of: About,
    content: String,
}

/// The deleted things of `kind`, as the column says it, of each completion's conversation, each list made by `comparison`.
/// Read behind what the completion takes back, because a deletion that is under way holds its row until then, and behind
/// what is there: what is deleted between the two reads is in both.
pub(super) async fn deleted(
    connection: &mut PgConnection,
    kept: &[&Completion],
    kind: &'static str,
    comparison: fn(&dyn SameThing) -> Box<dyn KnownTexts>,
) -> Result<Vec<Box<dyn KnownTexts>>, Error> {
    let claims = || kept.iter().map(|completion| &completion.claimed).filter(|claimed| claimed.revision > 1);
    let mut found: HashMap<About, Vec<String>> = HashMap::new();
    if claims().next().is_some() {
        let rows: Vec<Deleted> = sqlx::query_as(include_str!("../../sql/completion/deleted_words.sql"))
            .bind(claims().map(|claimed| claimed.user_id.as_str()).collect::<Vec<_>>())
            .bind(claims().map(|claimed| claimed.conversation_id.as_str()).collect::<Vec<_>>())
            .bind(kind)
            .fetch_all(connection)
            .await?;
        found = grouped(rows.into_iter().map(|row| (row.of, row.content)));
    }
    let texts = |completion: &&Completion| {
        let mut texts = comparison(&*completion.same);
        let words = found.get(&completion.about());
        words.into_iter().flatten().for_each(|content| texts.add(content));
        texts
    };
    Ok(kept.iter().map(texts).collect())
}
