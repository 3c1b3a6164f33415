-- What each queue has to do now: jobs that could run and jobs that run, each counted to 1,000, and nothing while the queue is
-- paused. KEDA asks the same of each queue (deploy/kubernetes/keda/worker.yaml).
select q.queue,
       case when exists (select from queue_pauses p where p.queue = q.queue) then 0
            else (select count(*)
                  from (select from finalization_jobs j
                        where j.queue = q.queue
                          and j.ready_at > '-infinity'
                          and j.ready_at <= statement_timestamp()
                        order by j.ready_at
                        limit 1000) ready)
               + (select count(*)
                  from (select from finalization_jobs j
                        where j.queue = q.queue
                          and j.status = 'leased'
                        limit 1000) running)
       end as backlog
from (values ('finalization'), ('creation')) q (queue)
