// Every page of the console, as one who looks around finds them.
import { sql } from "./service.mjs";

/** The pages that look different while nothing has happened yet. */
export const quiet = () =>
  Object.entries({ overview: "", jobs: "/jobs", replays: "/replays", webhooks: "/webhooks", apps: "/apps", audit: "/audit" });

/** Addresses below /console, by name, of what the database holds now. */
export function pages({ endpoint, delivery } = {}) {
  const job = (status) => sql(`select job_id from finalization_jobs where status = '${status}' order by created_at limit 1`);
  const [done, dead, queued] = [job("completed"), job("dead_letter"), job("queued")];
  const replay = sql("select operation_id from replay_operations order by created_at desc limit 1");
  const hook = `user=me&endpoint=${endpoint}`;
  const all = {
    login: "/login",
    overview: "",
    jobs: "/jobs",
    "jobs-dead": "/jobs?status=dead_letter&unsettled=1",
    "job-queued": queued && `/jobs/${queued}`,
    "job-done": done && `/jobs/${done}`,
    "job-dead": dead && `/jobs/${dead}`,
    "ask-replay": dead && `/jobs/${dead}/replay`,
    "ask-dismiss": dead && `/jobs/${dead}/discard`,
    "ask-pause": "/queues/finalization/pause",
    replays: "/replays",
    "ask-replays": dead && "/replays/new",
    replay: replay && `/replays/${replay}`,
    webhooks: "/webhooks",
    "webhooks-of": "/webhooks?user=me",
    endpoint: endpoint && `/webhooks/endpoint?${hook}`,
    "ask-recover": endpoint && `/webhooks/recover?${hook}`,
    "ask-enable": endpoint && `/webhooks/enable?${hook}`,
    delivery: delivery && `/webhooks/delivery?${hook}&delivery=${delivery}`,
    "ask-redeliver": delivery && `/webhooks/redeliver?${hook}&delivery=${delivery}`,
    apps: "/apps",
    "ask-switch-off": "/apps/of-nobody/switch-off",
    audit: "/audit",
    "find-nothing": "/find?id=nothing-of-that",
    "find-several": dead && `/find?id=${dead.slice(0, 6)}`,
    "ask-selected": dead && `/jobs/selected?act=dismiss&job=${dead}`,
    "overview-day": "?hours=24",
    missing: "/jobs/fj_of_nobody",
    unreadable: "/jobs?newer_than=soon",
  };
  return Object.entries(all).filter(([name, path]) => path || name === "overview");
}
