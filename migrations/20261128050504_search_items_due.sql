-- no-transaction
-- Action items that are not indexed yet.
create index concurrently action_items_unindexed on action_items (user_id, action_item_id) where words is null;
