select min(job_id) || ' and others of one revision'
from finalization_jobs
where status = 'completed'
group by user_id, conversation_id, revision
having count(*) > 1
union all
select job_id || ' completed more than once'
from finalization_jobs
where jsonb_array_length(jsonb_path_query_array(history, '$[*] ? (@.verb == "complete")')) > 1
