//! Rules over what completions write: each thing once, together, or not at all.

use super::Rule;

pub(super) const RULES: &[Rule] = &[
    (
        // A dead letter that was replayed and dies again is the same failure of the same revision, sent once.
        "no row of an effect is written twice, but that a revision failed, when it did again",
        "with died as (select user_id, conversation_id, revision, count(*) n from (select h.*, lag(status) over \
                 (partition by job_id order by version, seq) p_status from chaos.history h) h \
             where status = 'dead_letter' and p_status <> 'dead_letter' group by 1, 2, 3) \
         select format('%s %s by %s at %s', w.kind, w.id, w.writer, w.at) from chaos.double_writes w \
         where not exists (select from chaos.effects e join died d using (user_id, conversation_id, revision) \
             where e.kind = 'delivery' and w.kind = 'delivery' and e.id = w.id and e.event = 'conversation.failed' \
                 and d.n > (select count(*) from chaos.double_writes o where o.kind = 'delivery' and o.id = w.id))",
    ),
    (
        "a revision's things are written by the transaction that completes it",
        "select format('%s %s of %s r%s: tx %s by %s', e.kind, e.id, e.conversation_id, e.revision, e.tx, e.writer) \
         from chaos.effects e where e.kind in ('item', 'memory') and e.conversation_id is not null and not exists (select from chaos.history h \
             where h.user_id = e.user_id and h.conversation_id = e.conversation_id and h.revision = e.revision \
                 and h.tx = e.tx and h.status = 'completed' and h.outcome = 'kept')",
    ),
    (
        "a conversation is completed or failed by the transaction that ends its job",
        "select format('%s r%s is %s: tx %s by %s', e.conversation_id, e.revision, e.event, e.tx, e.writer) \
         from chaos.effects e where e.kind = 'conversation' and e.event in ('completed', 'failed') \
             and not exists (select from chaos.history h where h.user_id = e.user_id \
                 and h.conversation_id = e.conversation_id and h.revision = e.revision and h.tx = e.tx \
                 and h.status = case e.event when 'completed' then 'completed' else 'dead_letter' end)",
    ),
    (
        "endpoints are told of by the transaction that makes it true",
        "select format('%s %s of %s r%s: tx %s', e.event, e.id, e.conversation_id, e.revision, e.tx) \
         from chaos.effects e where e.kind = 'delivery' and e.conversation_id is not null \
             and not exists (select from chaos.history h where h.user_id = e.user_id \
                 and h.conversation_id = e.conversation_id and h.revision = e.revision and h.tx = e.tx \
                 and h.status = case e.event when 'conversation.failed' then 'dead_letter' else 'completed' end)",
    ),
    (
        "a kept conversation has its two tasks and its fact, once each, unless it is noise",
        "select format('%s of %s: %s items (%s distinct), %s memories', c.conversation_id, c.user_id, i.n, i.d, m.n) \
         from chaos.said s join conversations c using (user_id, conversation_id) \
         join finalization_jobs j on j.user_id = c.user_id and j.conversation_id = c.conversation_id \
             and j.revision = c.finalization_revision and j.outcome = 'kept' \
         cross join lateral (select count(*) n, count(distinct description) d from action_items i \
             where i.user_id = c.user_id and i.conversation_id = c.conversation_id) i \
         cross join lateral (select count(*) n from memories m \
             where m.user_id = c.user_id and m.conversation_id = c.conversation_id) m \
         where not s.noise and (i.n, i.d, m.n) <> (2, 2, 1)",
    ),
    (
        "what was thrown away has nothing",
        "select format('%s of %s', c.conversation_id, c.user_id) from conversations c \
         join finalization_jobs j on j.user_id = c.user_id and j.conversation_id = c.conversation_id \
             and j.revision = c.finalization_revision and j.outcome = 'discarded' \
         where exists (select from action_items i where i.user_id = c.user_id and i.conversation_id = c.conversation_id)",
    ),
    (
        "noise is thrown away and nothing else",
        "select format('%s of %s: %s', s.conversation_id, s.user_id, j.outcome) from chaos.said s \
         join finalization_jobs j using (user_id, conversation_id) where j.status = 'completed' \
             and j.outcome <> 'withdrawn' and j.origin = 'create' and s.noise <> (j.outcome = 'discarded')",
    ),
    (
        // What a later revision takes back is not sent any more, where it was not sent before, and what it says again is not sent anew.
        "every endpoint has one delivery per event of a revision; of noise, that it was processed",
        "select format('%s r%s of %s: %s %s', conversation_id, revision, user_id, n, event) from ( \
             select j.user_id, j.conversation_id, j.revision, v.event, v.wanted, \
                 exists (select from finalization_jobs l where l.user_id = j.user_id \
                     and l.conversation_id = j.conversation_id and l.revision <> j.revision and l.outcome = 'kept') other, \
                 (select count(*) \
                 from webhook_deliveries w where w.user_id = j.user_id and w.endpoint_id = e.endpoint_id \
                     and w.conversation_id = j.conversation_id and w.revision = j.revision and w.event = v.event) n \
             from finalization_jobs j join chaos.endpoints e using (user_id) \
             join conversations c using (user_id, conversation_id) \
             cross join (values ('conversation.completed', 1), ('action_item.created', 2), ('memory.created', 1)) \
                 v (event, wanted) where j.outcome = 'kept' \
                 and (v.event = 'conversation.completed' or c.private_text is null or c.private_text like '%zq%')) t \
         where n > wanted or n < wanted and (event = 'conversation.completed' or not other)",
    ),
    (
        "every endpoint has one delivery for each task and memory that was extracted",
        "select format('%s of %s: %s', id, user_id, n) from ( \
             select user_id, action_item_id id from action_items where revision is not null \
             union all select user_id, memory_id from memories where revision is not null) t \
         join chaos.endpoints e using (user_id) cross join lateral (select count(*) n from webhook_deliveries w \
             where w.user_id = t.user_id and w.endpoint_id = e.endpoint_id and w.subject_id = t.id) w where n <> 1",
    ),
    (
        "a failed revision is told of once, and not where an older one stays",
        "select format('%s r%s of %s: %s', j.conversation_id, j.revision, j.user_id, n) from finalization_jobs j \
         join chaos.endpoints e using (user_id) join conversations c using (user_id, conversation_id) \
         cross join lateral (select count(*) n from webhook_deliveries w where w.user_id = j.user_id \
             and w.endpoint_id = e.endpoint_id and w.conversation_id = j.conversation_id and w.revision = j.revision \
             and w.event = 'conversation.failed') w where j.status = 'dead_letter' \
             and n <> case when j.origin = 'reprocess' and exists (select from finalization_jobs b \
                 where b.user_id = j.user_id and b.conversation_id = j.conversation_id and b.revision < j.revision \
                     and b.status = 'completed') then 0 else 1 end",
    ),
    (
        "nothing is written about a conversation that was deleted",
        "select format('%s %s of %s', e.kind, e.id, e.conversation_id) from chaos.effects e \
         join deleted_conversations d using (user_id, conversation_id) where e.at > d.deleted_at + interval '11 seconds'",
    ),
];
