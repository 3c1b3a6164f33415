-- Installs that were removed more than an hour ago, and those of apps that are gone.
with removed as (
    select user_id, app_id from app_installs
    where removed_at < statement_timestamp() - interval '1 hour'
    limit $1 for update skip locked),
orphaned as (
    select i.user_id, i.app_id from app_installs i
    where not exists (select from apps a where a.user_id = i.owner_id and a.app_id = i.app_id)
    limit $1 for update skip locked),
doomed as (select * from removed union select * from orphaned)
delete from app_installs i using doomed d where i.user_id = d.user_id and i.app_id = d.app_id
