-- The conversations of a batch, locked, each with the place of its request. Those that another transaction has locked are skipped.
-- `(select $1)` hides how many there are from the planner: by their number it would make another plan each time.
select k.place - 1 as place,
       statement_timestamp() as now,
       c.status,
       c.finalization_revision,
       coalesce(c.counted_bytes, 0) as bytes,
       coalesce(c.last_append_at < statement_timestamp() - interval '24 hours', false) as is_abandoned,
       c.private_text is not null
           or exists (select from transcript_segments s
                      where s.user_id = c.user_id and s.conversation_id = c.conversation_id)
           or exists (select from photos p
                      where p.user_id = c.user_id and p.conversation_id = c.conversation_id) as has_content
from unnest((select $1::text[]), (select $2::text[])) with ordinality as k (user_id, conversation_id, place)
join conversations c on c.user_id = k.user_id and c.conversation_id = k.conversation_id
order by c.user_id, c.conversation_id
for no key update of c skip locked
