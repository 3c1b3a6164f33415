update replay_operations
set status = $2,
    updated_at = $3,
    finished_at = case when $2 = 'cancelled' then $3::timestamptz end,
    lease_until = case when $2 = 'running' then $3 else lease_until end
where operation_id = $1
  and case $2
      when 'running' then status = 'paused'
      when 'paused' then status = 'running'
      else status in ('running', 'paused')
  end
