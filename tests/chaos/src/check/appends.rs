//! Rules over segments that were appended before a conversation was finalized.

use super::Rule;

pub(super) const RULES: &[Rule] = &[
    (
        "what was appended is there once, and is there if that was answered",
        "select format('%s of %s: %s, %s times', a.word, a.user_id, a.status, n) from chaos.added a \
         join conversations c using (user_id, conversation_id) \
         cross join lateral (select count(*) n from transcript_segments t where t.user_id = a.user_id \
             and t.conversation_id = a.conversation_id and t.content like '%' || a.word || '%') t \
         where n > 1 or (n = 0 and a.status = 200)",
    ),
    (
        "what was appended is in the revision that was made of it",
        "select format('%s of %s', a.word, a.user_id) from chaos.added a \
         join chaos.said s using (user_id, conversation_id) join conversations c using (user_id, conversation_id) \
         join finalization_jobs j on j.user_id = a.user_id and j.conversation_id = a.conversation_id \
             and j.revision = c.finalization_revision and j.outcome = 'kept' \
         where a.status = 200 and not exists (select from chaos.calls m where m.number = s.number \
             and m.words like '%' || a.word || '%')",
    ),
    (
        "there were appended words to check",
        "select 'nothing was appended' where not exists (select from chaos.added where status = 200)",
    ),
];
