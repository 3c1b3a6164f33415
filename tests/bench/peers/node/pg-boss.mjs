// pg-boss. Finished jobs stay for seven days. `tuned`: batches, fetched again at once while they come back full, and
// woken by NOTIFY; as shipped, a worker fetches one job every two seconds.

import { PgBoss } from "pg-boss";
import { Pool } from "pg";
import { serve } from "./line.mjs";

const url = process.env.DATABASE_URL;
const pool = new Pool({ connectionString: url, max: 2 });
pool.on("error", () => {});
const tuned = process.argv[2] === "tuned";
const boss = new PgBoss({ connectionString: url, max: 20, useListenNotify: tuned });
boss.on("error", (error) => console.error(`pg-boss: ${error.message}`));

await serve({
  async setup() {
    await boss.start();
    await boss.createQueue("bench", { notify: tuned });
  },

  async fill(kind, count) {
    const states = {
      finished: "'completed'::pgboss.job_state, now(), now(), now()",
      waiting: "'created'::pgboss.job_state, null, null, now() + interval '1 day'",
    };
    await pool.query(
      `insert into pgboss.job (name, data, policy, state, started_on, completed_on, start_after)
       select 'bench', '{"job": -1}', policy, ${states[kind]}
       from pgboss.queue, generate_series(1, $1) where name = 'bench'`,
      [count],
    );
    await pool.query("vacuum analyze");
  },

  async left() {
    const { rows } = await pool.query(
      `select count(*)::int as left from pgboss.job
       where name = 'bench' and state < 'completed' and start_after < now() + interval '1 hour'`,
    );
    return rows[0].left;
  },

  async load(from, to) {
    for (let first = from; first < to; first += 5000) {
      const jobs = Array.from({ length: Math.min(5000, to - first) }, (_, at) => first + at);
      await boss.insert("bench", jobs.map((job) => ({ data: { job } })));
    }
  },

  push: (job) => boss.send("bench", { job }),

  async work(width, seen) {
    const batches = { batchSize: 50, burstWhenBatchFull: true };
    const options = { localConcurrency: width, ...(tuned ? batches : {}) };
    await boss.work("bench", options, (jobs) => Promise.all(jobs.map(({ data }) => seen(data.job))));
    return () => boss.offWork("bench", { wait: true });
  },
});
