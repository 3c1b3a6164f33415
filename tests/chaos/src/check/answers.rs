//! Rules over the answers to clients, the posts to receivers and the calls to the model.

use super::Rule;

pub(super) const RULES: &[Rule] = &[
    (
        "an admission that was answered 200 exists",
        "select format('%s of %s: %s answered 200 by %s at %s', a.conversation_id, a.user_id, a.verb, a.process, a.at) \
         from chaos.answers a where a.status = 200 and a.word <> 'deleted' and a.verb in ('create', 'finalize', 'reprocess') \
             and not exists (select from finalization_admissions f where f.user_id = a.user_id \
                 and f.conversation_id = a.conversation_id) \
             and not exists (select from deleted_conversations d where d.user_id = a.user_id \
                 and d.conversation_id = a.conversation_id)",
    ),
    (
        "a conversation that was answered 200 exists, with all its words, unless its owner deleted it",
        "select format('%s of %s: %s segments', s.conversation_id, s.user_id, (select count(*) from transcript_segments t \
             where t.user_id = s.user_id and t.conversation_id = s.conversation_id)) \
         from chaos.said s left join conversations c using (user_id, conversation_id) \
         where not exists (select from chaos.answers d where d.conversation_id = s.conversation_id and d.verb = 'delete') \
             and (c.user_id is null or (c.private_text is null and (select count(*) from transcript_segments t \
                 where t.user_id = s.user_id and t.conversation_id = s.conversation_id \
                     and t.content not like '%zq%x%') <> 3))",
    ),
    (
        "a finalize that was answered 200 leads to an end",
        "select format('%s of %s is %s', a.conversation_id, a.user_id, c.status) from chaos.answers a \
         join conversations c using (user_id, conversation_id) \
         where a.verb = 'finalize' and a.status = 200 and c.status not in ('completed', 'failed') \
             and not exists (select from finalization_jobs j where j.user_id = a.user_id \
                 and j.conversation_id = a.conversation_id and j.status = 'blocked_byok')",
    ),
    (
        "a completed conversation stays completed, also while it is processed again",
        "select format('%s of %s: %s at %s by %s', e.conversation_id, e.user_id, e.event, e.at, e.writer) \
         from chaos.effects e where e.kind = 'conversation' and e.event <> 'completed' and exists (select \
             from chaos.effects c where c.kind = 'conversation' and c.event = 'completed' and c.user_id = e.user_id \
                 and c.conversation_id = e.conversation_id and c.at < e.at)",
    ),
    (
        "there were conversations to be processed again",
        "select 'no revision of a reprocess was completed' where not exists (select from finalization_jobs \
             where origin = 'reprocess' and status = 'completed')",
    ),
    (
        "a title that a person set stays",
        "select format('%s: %L instead of %L', p.conversation_id, c.title, p.word) from (select distinct on \
             (conversation_id) * from chaos.answers where verb = 'patch' order by conversation_id, at desc) p \
         join conversations c using (user_id, conversation_id) where p.status = 200 and c.title <> p.word \
             and not exists (select from chaos.answers o where o.conversation_id = p.conversation_id and o.verb = 'patch' \
                 and o.word = c.title and (o.status <> 200 or o.at > p.sent))",
    ),
    (
        "what was deleted is gone, with everything that hung on it",
        "select format('%s of %s is still there', d.conversation_id, d.user_id) \
         from (select distinct user_id, conversation_id from chaos.answers where verb = 'delete' \
             and status between 200 and 299) d \
         where exists (select from conversations c where c.user_id = d.user_id and c.conversation_id = d.conversation_id) \
             or exists (select from action_items i where i.user_id = d.user_id and i.conversation_id = d.conversation_id) \
             or exists (select from memories m where m.user_id = d.user_id and m.conversation_id = d.conversation_id) \
             or exists (select from finalization_jobs j where j.user_id = d.user_id \
                 and j.conversation_id = d.conversation_id and j.status in ('queued', 'leased', 'blocked_byok')) \
             or exists (select from stage_checkpoints s join finalization_jobs j using (user_id, job_id) \
                 where j.user_id = d.user_id and j.conversation_id = d.conversation_id) \
             or exists (select from webhook_deliveries w where w.user_id = d.user_id \
                 and w.conversation_id = d.conversation_id and (w.status = 'pending' or w.body is not null))",
    ),
    (
        "a post is signed with its endpoint's secret",
        "select format('%s to %s', delivery_id, endpoint) from chaos.posts where not signed",
    ),
    (
        "a delivery has one body, however often it is posted",
        "select format('%s: %s bodies', delivery_id, count(distinct digest)) from chaos.posts \
         group by delivery_id having count(distinct digest) > 1",
    ),
    (
        "what is called delivered was received",
        "select format('%s', w.delivery_id) from webhook_deliveries w where w.status = 'delivered' \
             and not exists (select from chaos.posts p where p.delivery_id = w.delivery_id and p.status = 204)",
    ),
    (
        "what was posted had been written down",
        "select distinct format('%s to %s', p.delivery_id, p.endpoint) from chaos.posts p \
         where not exists (select from chaos.effects e where e.kind = 'delivery' and e.id = p.delivery_id)",
    ),
    (
        "after a person was marked, no run of hers begins",
        "select format('%s at %s', h.job_id, h.at) from chaos.history h where h.user_id = 'marked' and h.status = 'leased' \
             and h.seq > (select min(seq) from chaos.history where user_id = 'marked' and requires_keys) \
             and not exists (select from chaos.history p where p.job_id = h.job_id and p.seq < h.seq \
                 and p.status = 'leased' and p.epoch = h.epoch)",
    ),
];
