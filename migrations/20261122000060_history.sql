-- What operators look back at: the edges of each job, on its own row, so that they cost no statement and go with it.
set local lock_timeout = '5s';

-- At most 64 lines, oldest first, the newest kept: "version at_micros verb from>to epoch generation worker code detail",
-- "-" for what there is not (`pipeline/ledger/src/history.rs`). Measured: one array element in the update that
-- is made anyway costs 170 bytes of log; a row of its own 390, an index entry and a round trip.
alter table finalization_jobs add column history text[];

-- Dead letters by code, counted with the edge: what an overview costs does not grow with what was left lying.
create table dead_letter_totals (
    code    text     not null,
    settled boolean  not null,
    stripe  smallint not null,
    jobs    bigint   not null default 0,
    constraint dead_letter_totals_pkey primary key (code, settled, stripe)
) with (fillfactor = 50);
insert into dead_letter_totals (code, settled, stripe, jobs)
    select dead_code, settled_at is not null, 0, count(*) from finalization_jobs
    where status = 'dead_letter' group by 1, 2;

-- Lists of dead letters by their cause. Only edges into and out of a dead letter write it.
create index finalization_jobs_dead_by_code on finalization_jobs (dead_code, created_at desc, job_id desc)
    where status = 'dead_letter';
