"""procrastinate. Finished jobs stay, with an event for each change of each; nothing deletes them unless asked to."""

import asyncio
import os

import procrastinate

connector = procrastinate.PsycopgConnector(conninfo=os.environ["DATABASE_URL"], min_size=20, max_size=20)
app = procrastinate.App(connector=connector)


class Queue:
    seen = None

    async def setup(self):
        # Its schema cannot be made twice, and a second process finds it there.
        there = "select to_regclass('procrastinate_jobs') is not null as there"
        if not (await connector.execute_query_one_async(there))["there"]:
            await app.schema_manager.apply_schema_async()

    async def fill(self, kind, count):
        status, at = ("succeeded", "null") if kind == "finished" else ("todo", "now() + interval '1 day'")
        await connector.execute_query_async(
            "insert into procrastinate_jobs (queue_name, task_name, args, status, scheduled_at) "
            f"select 'default', 'bench', '{{\"job\": -1}}', '{status}', {at} from generate_series(1, {count})"
        )
        if kind == "finished":
            # The trigger has written that each was deferred; a run would have added these two.
            await connector.execute_query_async(
                "insert into procrastinate_events (job_id, type) "
                "select id, unnest(array['started', 'succeeded']::procrastinate_job_event_type[]) "
                "from procrastinate_jobs"
            )
        for table in ("jobs", "events"):
            await connector.execute_query_async(f"analyze procrastinate_{table}")

    async def left(self):
        row = await connector.execute_query_one_async(
            "select count(*) as left from procrastinate_jobs where status in ('todo', 'doing') "
            "and (scheduled_at is null or scheduled_at < now() + interval '1 hour')"
        )
        return row["left"]

    async def load(self, begin, end):
        for first in range(begin, end, 5000):
            await bench.batch_defer_async(*({"job": job} for job in range(first, min(end, first + 5000))))

    async def push(self, job):
        await bench.defer_async(job=job)

    async def work(self, width, seen):
        self.seen = seen
        worker = asyncio.create_task(app.run_worker_async(concurrency=width, install_signal_handlers=False))

        async def stop():
            # A cancelled worker finishes what it has begun.
            worker.cancel()
            await asyncio.gather(worker, return_exceptions=True)

        return stop


queue = Queue()


@app.task(name="bench")
async def bench(job):
    await queue.seen(job)


