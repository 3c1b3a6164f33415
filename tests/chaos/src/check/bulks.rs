//! Rules over bulk replays, which the processes work off item by item.

use super::Rule;

pub(super) const RULES: &[Rule] = &[
    (
        "an item of a bulk replay is decided once",
        "select format('%s #%s: %s times', operation_id, position, count(*)) from chaos.replay_history \
         where status in ('replayed', 'refused') group by operation_id, position \
         having count(*) > 1 or bool_or(old_status <> 'waiting')",
    ),
    (
        "an item comes to rest once, and is parked once before",
        "select format('%s #%s: %s', operation_id, position, string_agg(status, ', ')) from chaos.replay_history \
         where status in ('completed', 'died_again', 'parked') group by operation_id, position, status = 'parked' \
         having count(*) > 1 or bool_or(old_status <> 'replayed' and (old_status, status) not in \
             (('parked', 'completed'), ('parked', 'died_again')))",
    ),
    (
        "an item is marked by the transaction that replays its job",
        "select format('%s #%s: %s by %s', r.operation_id, r.position, r.job_id, r.writer) from chaos.replay_history r \
         where r.status = 'replayed' and not exists (select from chaos.history h where h.job_id = r.job_id and h.tx = r.tx \
             and h.generation = r.generation + 1 and h.status in ('queued', 'blocked_byok'))",
    ),
    (
        "a bulk replay counts its items",
        "select format('%s: %s', o.operation_id, t) from replay_operations o cross join lateral (select count(*) items, \
             count(*) filter (where status not in ('waiting', 'refused')) replayed, \
             count(*) filter (where status = 'refused') refused, count(*) filter (where status = 'completed') completed, \
             count(*) filter (where status = 'died_again') died_again, count(*) filter (where status = 'parked') parked \
             from replay_items i where i.operation_id = o.operation_id) t \
         where (o.items, o.replayed, o.refused, o.completed, o.died_again, o.parked) \
             <> (t.items, t.replayed, t.refused, t.completed, t.died_again, t.parked)",
    ),
    (
        "nothing is replayed by what is paused or was cancelled",
        "select format('%s #%s: %s, by one that was %s', operation_id, position, status, operation_status) \
         from chaos.replay_history where status in ('replayed', 'refused') and operation_status <> 'running'",
    ),
    (
        "a bulk replay comes to its end, with nothing left undecided unless it was cancelled",
        "select format('%s is %s', operation_id, status) from replay_operations o where status not in ('done', 'cancelled') \
             or exists (select from replay_items i where i.operation_id = o.operation_id \
                 and (i.status = 'replayed' or i.status = 'waiting' and o.status <> 'cancelled'))",
    ),
];
