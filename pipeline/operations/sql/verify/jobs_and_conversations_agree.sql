select j.job_id || ' is ' || j.status || ', its conversation ' || c.status
from finalization_jobs j
join conversations c
    on c.user_id = j.user_id
    and c.conversation_id = j.conversation_id
    and c.finalization_revision = j.revision
where case j.status
    when 'completed' then c.status <> 'completed'
    when 'dead_letter' then j.origin <> 'reprocess' and c.status <> 'failed'
    else j.origin <> 'reprocess' and c.status <> 'processing'
end
