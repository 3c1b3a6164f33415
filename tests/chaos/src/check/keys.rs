//! Rules over users with their own model keys: which key the model received with which user's words. The owner of noise, which
//! is read when it is reprocessed, is unknown.
//!
//! `parked` never brings one; each `keyed` person brings hers most of the time, none now and then, and sometimes one that
//! the model refuses.

use super::Rule;

pub(super) const RULES: &[Rule] = &[
    (
        "nothing of a person who requires own keys is shown to the model with ours",
        "select format('%s of %s at %s, with the key of %s', s.conversation_id, s.user_id, c.at, c.key_of) \
         from chaos.calls c join chaos.said s using (number) \
         where s.user_id = 'parked' or (s.user_id like 'keyed%' and c.key_of not in (s.user_id, 'refused'))",
    ),
    (
        "a person's key is for her own words alone",
        "select format('%s of %s at %s, with the key of %s', s.conversation_id, s.user_id, c.at, c.key_of) \
         from chaos.calls c join chaos.said s using (number) \
         where c.key_of <> 'service' and s.user_id not like 'keyed%'",
    ),
    (
        "the model is called only with keys that were given",
        "select format('%s at %s', stage, at) from chaos.calls where key_of = 'unknown'",
    ),
    (
        "what a person with own keys was given was made with her key",
        "select format('%s of %s', j.conversation_id, j.user_id) from finalization_jobs j \
         join chaos.said s using (user_id, conversation_id) \
         where j.user_id like 'keyed%' and j.status = 'completed' and j.outcome = 'kept' and not s.noise \
             and not exists (select from chaos.calls c where c.number = s.number and c.key_of = j.user_id)",
    ),
    (
        "a job of a person with own keys is begun only while it requires them",
        "select format('%s v%s', job_id, version) from chaos.history \
         where user_id like 'keyed%' and status = 'leased' and not requires_keys",
    ),
    (
        "there were keys to check",
        "select 'no call came with a person''s key' where not exists (select from chaos.calls where key_of like 'keyed%') \
         union all select 'no job was completed with a person''s key' where not exists (select from finalization_jobs \
             where user_id like 'keyed%' and status = 'completed')",
    ),
];
