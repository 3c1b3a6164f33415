//! Rules over live conversations: lines sent through sockets whose processes were killed, frozen and replaced.

use sqlx::PgPool;

use super::Rule;
use crate::journal::Journal;

pub(super) const RULES: &[Rule] = &[
    (
        "a line that a live socket confirmed is kept",
        "select format('%s of %s', word, user_id) from chaos.spoken s where confirmed and not exists (select \
             from transcript_segments t where t.user_id = s.user_id and t.segment_id = s.word)",
    ),
    (
        // Two sockets of one client may store a line in two conversations at the same moment.
        "a line is kept no more often than it was sent, and once in a conversation",
        "select format('%s of %s: sent %s times, kept %s times', word, s.user_id, sends, count(*)) \
         from chaos.spoken s join transcript_segments t on t.user_id = s.user_id and t.segment_id = s.word \
         group by s.user_id, word, sends having count(*) > sends or count(*) > count(distinct t.conversation_id)",
    ),
    (
        "a line keeps its words",
        "select format('%s of %s', segment_id, user_id) from transcript_segments where user_id like 'speaker%' \
             and content not like '%' || segment_id || '%'",
    ),
    (
        "a conversation has its lines in the order in which they were said",
        "select format('%s of %s: %s after %s', conversation_id, user_id, number, before) from (select t.user_id, \
             t.conversation_id, s.number, lag(s.number) over (partition by t.user_id, t.conversation_id order by t.position) before \
             from transcript_segments t join chaos.spoken s on s.user_id = t.user_id and s.word = t.segment_id \
             where s.sends = 1) t where before > number",
    ),
    (
        "a live conversation is admitted once",
        "select format('%s of %s: %s times', c.conversation_id, c.user_id, n) from conversations c \
         cross join lateral (select count(*) n from finalization_jobs j where j.user_id = c.user_id \
             and j.conversation_id = c.conversation_id and j.origin = 'live') j \
         where c.user_id like 'speaker%' and n <> 1",
    ),
    (
        "a live conversation is completed",
        "select format('%s of %s is %s', conversation_id, user_id, status) from conversations \
         where user_id like 'speaker%' and status <> 'completed'",
    ),
    (
        "a live conversation has words",
        "select format('%s of %s', conversation_id, user_id) from conversations c where user_id like 'speaker%' \
             and not exists (select from transcript_segments t where t.user_id = c.user_id \
                 and t.conversation_id = c.conversation_id)",
    ),
    (
        "the end of a live conversation that was answered 200 is an admission",
        "select format('%s of %s by %s', a.conversation_id, a.user_id, a.process) from chaos.answers a \
         where a.verb = 'end' and a.status = 200 and not exists (select from finalization_admissions f \
             where f.user_id = a.user_id and f.conversation_id = a.conversation_id)",
    ),
    (
        "there were live conversations to check",
        "select 'no line was confirmed' where not exists (select from chaos.spoken where confirmed) \
         union all select 'no live conversation was ended on request' where not exists (select from chaos.answers \
             where verb = 'end' and status = 200) \
         union all select 'no live conversation ended by silence' where not exists (select from finalization_jobs j \
             where j.origin = 'live' and not exists (select from chaos.answers a where a.verb = 'end' \
                 and a.user_id = j.user_id and a.conversation_id = j.conversation_id))",
    ),
];

pub(super) async fn write_spoken(pool: &PgPool, journal: &Journal) {
    let all = journal.spoken.all();
    sqlx::query(
        "insert into chaos.spoken select * from unnest($1::text[], $2::text[], $3::bigint[], $4::int[], $5::bool[])",
    )
    .bind(all.iter().map(|spoken| spoken.user.clone()).collect::<Vec<_>>())
    .bind(all.iter().map(|spoken| spoken.word.clone()).collect::<Vec<_>>())
    .bind(all.iter().map(|spoken| spoken.number).collect::<Vec<_>>())
    .bind(all.iter().map(|spoken| spoken.sends).collect::<Vec<_>>())
    .bind(all.iter().map(|spoken| spoken.confirmed).collect::<Vec<_>>())
    .execute(pool)
    .await
    .expect("the kit can write its own tables");
}
