-- What a process says of itself.
insert into service_processes as p (process_id, version, roles, dispatch_mode, finalization_slots, creation_slots, stopping,
    started_at, seen_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $8)
on conflict (process_id) do update set version = excluded.version, roles = excluded.roles,
    dispatch_mode = excluded.dispatch_mode, finalization_slots = excluded.finalization_slots,
    creation_slots = excluded.creation_slots, stopping = excluded.stopping,
    started_at = case when p.seen_at > $9 then p.started_at else $8 end, seen_at = $8
returning ended
