-- A user's action items by state, due date and words: the open ones first, those that are due next before those that have no date.
-- Words are looked for in the newest 2,000 of them.
-- $1 user, $2 completed, $3 due from, $4 due until, $5 completed from, $6 completed until, $7 any word, $8 the text search
-- configuration, $9 how many
select action_item_id, description, completed, created_at, updated_at, due_at, completed_at, conversation_id, position
from (select * from action_items
      where user_id = $1
          and ($2::boolean is null or completed = $2)
          and ($3::timestamptz is null or due_at >= $3)
          and ($4::timestamptz is null or due_at < $4)
          and ($5::timestamptz is null or completed_at >= $5)
          and ($6::timestamptz is null or completed_at < $6)
      order by case when $7::text is not null then created_at end desc
      limit (case when $7::text is not null then 2000 end)) i
where $7::text is null or to_tsvector($8::regconfig, description) @@ $7::tsquery
order by completed, due_at nulls last, coalesce(completed_at, created_at) desc, position, action_item_id
limit $9
