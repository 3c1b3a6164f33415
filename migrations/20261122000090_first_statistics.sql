-- Sessions keep plans. One that is made from the statistics of five rows reads the whole table, and would go on doing so
-- while the table grows to thousands, until it is analyzed again: a minute and more after a first burst. Without
-- statistics the server looks at a table's size when it plans, and takes the indexes. So tables that grow fast get
-- their first statistics when there is something to count, and not after fifty changes.
set local lock_timeout = '5s';

do $$
declare
    growing text;
begin
    foreach growing in array array[
        'action_items', 'conversations', 'deleted_conversations', 'developer_keys', 'embeddings', 'engine_usage',
        'finalization_admissions', 'finalization_bells', 'finalization_jobs', 'memories', 'photos', 'push_deliveries',
        'request_keys', 'stage_checkpoints', 'transcript_segments', 'users', 'webhook_deliveries'
    ] loop
        execute format(
            'alter table %I set (autovacuum_analyze_threshold = 1000, autovacuum_vacuum_threshold = 1000)', growing);
    end loop;
end $$;
