-- Where the trace of an admission goes on: W3C's traceparent, written with the row it is about. Null while traces are off.
set local lock_timeout = '5s';

-- Not validated: a column that was added a moment ago holds nothing yet, and looking would read the whole table.
alter table finalization_jobs
    add column trace_context text,
    add constraint trace_context_is_one
        check (trace_context ~ '^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$') not valid;
alter table webhook_deliveries
    add column trace_context text,
    add constraint trace_context_is_one
        check (trace_context ~ '^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$') not valid;
