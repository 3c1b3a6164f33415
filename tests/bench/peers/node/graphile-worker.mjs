// graphile-worker. Finished jobs are deleted. `tuned` is its local queue, as its page on performance has it.

import { Logger, makeWorkerUtils, run } from "graphile-worker";
import { Pool } from "pg";
import { serve } from "./line.mjs";

const url = process.env.DATABASE_URL;
const logger = new Logger(() => () => {});
const pool = new Pool({ connectionString: url, max: 20 });
pool.on("error", () => {});
pool.on("connect", (client) => client.on("error", () => {}));
let utils;

const queued = { worker: { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 } };

await serve({
  async setup() {
    utils = await makeWorkerUtils({ pgPool: pool, logger });
    await utils.migrate();
  },

  async fill(kind, count) {
    if (kind === "finished") return { skipped: true };
    await utils.addJob("bench", { job: -1 }, { runAt: new Date(Date.now() + 86_400_000) });
    await pool.query(
      `insert into graphile_worker._private_jobs (task_id, payload, run_at)
       select id, '{"job": -1}', now() + interval '1 day'
       from graphile_worker._private_tasks, generate_series(2, $1) where identifier = 'bench'`,
      [count],
    );
    await pool.query("vacuum analyze graphile_worker._private_jobs");
  },

  async left() {
    const { rows } = await pool.query(
      "select count(*)::int as left from graphile_worker._private_jobs where run_at < now() + interval '1 hour'",
    );
    return rows[0].left;
  },

  async load(from, to) {
    for (let first = from; first < to; first += 5000) {
      const jobs = Array.from({ length: Math.min(5000, to - first) }, (_, at) => first + at);
      await utils.addJobs(jobs.map((job) => ({ identifier: "bench", payload: { job } })));
    }
  },

  push: (job) => utils.addJob("bench", { job }),

  async work(width, seen) {
    const runner = await run({
      pgPool: pool,
      concurrency: width,
      noHandleSignals: true,
      logger,
      parsedCronItems: [],
      taskList: { bench: ({ job }) => seen(job) },
      ...(process.argv[2] === "tuned" ? { preset: queued } : {}),
    });
    return () => runner.stop();
  },
});
