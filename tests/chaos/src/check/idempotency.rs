//! Rules over requests with an `Idempotency-Key`, and over everything else that repeats must create only once.

use super::Rule;

pub(super) const RULES: &[Rule] = &[
    (
        "what a client asked for was made once",
        "select format('%s %s of %s: %s times, by %s', kind, number, user_id, count(*), string_agg(writer, ', ')) \
         from chaos.made where number is not null group by kind, number, user_id having count(*) > 1",
    ),
    (
        "a name is answered with one thing",
        "select format('%s of %s: %s', name, user_id, string_agg(distinct made, ', ')) from chaos.named \
         where status = 200 group by user_id, name having count(distinct made) > 1",
    ),
    (
        "what was answered under a name was made",
        "select format('%s of %s: %L by %s', name, user_id, made, process) from chaos.named n where status = 200 \
             and not exists (select from chaos.made m where (m.kind, m.user_id, m.id, m.number) \
                 = (n.makes, n.user_id, n.made, n.number))",
    ),
    (
        "a request under a name is answered, refused for a while, or gone with what it made",
        "select format('%s of %s: %s by %s', name, user_id, status, process) from chaos.named \
         where status not in (0, 200, 404, 409) and status < 500",
    ),
    (
        "what is not there is not told under a name, unless it was deleted",
        "select format('%s of %s: 404 by %s', name, user_id, process) from chaos.named n where status = 404 \
             and (not exists (select from chaos.made m where (m.kind, m.user_id, m.number) \
                     = (n.makes, n.user_id, n.number)) \
                 or exists (select from chaos.made m join conversations c \
                     on c.user_id = m.user_id and c.conversation_id = m.id \
                     where (m.kind, m.user_id, m.number) = (n.makes, n.user_id, n.number)))",
    ),
    (
        "no answer is kept of what was deleted",
        "select format('%s of %s', r.request_key, r.user_id) from request_keys r join deleted_conversations d \
             on d.user_id = r.user_id and d.conversation_id = any(r.made) where r.answer is not null",
    ),
    (
        "there were repeats to check",
        "select 'no request was answered twice under one name' where not exists (select from chaos.named \
             where status = 200 group by user_id, name having count(*) > 1)",
    ),
];
