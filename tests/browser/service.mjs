// The real binary on the database of this run, its API, a receiver of webhooks, and what an operator finds.
import { spawn, execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { readFileSync } from "node:fs";

const { LISTEN, PSQL } = process.env;
export const KEYS = { olga: "olgas-key-for-this-run", ron: "rons-key-for-this-run" };

const entry = (name, role) => `${name}=${role}:${createHash("sha256").update(KEYS[name]).digest("hex")}`;

/** Starts `listen dev`; answers where it is, a developer's key, and how to stop it with SIGTERM. */
export async function start() {
  const child = spawn(LISTEN, ["dev", "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0"], {
    env: {
      ...process.env,
      LISTEN_CONSOLE_KEYS: [entry("olga", "operator"), entry("ron", "reader")].join(","),
      LISTEN_CREATE_WAIT_SECONDS: "2",
      LISTEN_RATE_PER_MINUTE: "0",
      LISTEN_LOG: "warn",
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  child.stderr.on("data", (text) => (said += text));
  const ended = new Promise((resolve) => child.on("exit", (code) => resolve(code)));
  const [, api, desk, key] = await new Promise((resolve, reject) => {
    let out = "";
    child.stdout.on("data", (text) => {
      out += text;
      const found = /API +(\S+)\/v1 [^]*Console +(\S+)[^]*(lsk_[0-9A-Za-z]+)'/.exec(out);
      if (found) resolve(found);
    });
    ended.then((code) => reject(new Error(`listen ended with ${code}: ${said}`)));
  });
  const stop = async () => {
    const began = Date.now();
    child.kill("SIGTERM");
    const code = await ended;
    return { code, milliseconds: Date.now() - began };
  };
  return { api, desk, key, stop, log: () => said };
}

/** A receiver that answers with `receiver.status`, and counts. */
export async function receive() {
  const receiver = { status: 400, seen: 0 };
  const server = createServer((request, response) => {
    request.resume();
    receiver.seen += 1;
    response.writeHead(receiver.status).end();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  receiver.url = `http://127.0.0.1:${server.address().port}/hook/of-somebody?token=a-secret`;
  receiver.close = () => server.close();
  return receiver;
}

/** Asks the service's API. */
export async function ask(service, path, body) {
  const response = await fetch(`${service.api}/v1/dev/user/${path}`, {
    method: body ? "POST" : "GET",
    headers: { authorization: `Bearer ${service.key}`, "content-type": "application/json" },
    body: body && JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

/** Runs SQL; answers what it printed. */
export function sql(text, variables = {}) {
  const named = Object.entries(variables).flatMap(([name, value]) => ["-v", `${name}=${value}`]);
  return execFileSync(PSQL, ["-XqtA", "-v", "ON_ERROR_STOP=1", ...named, "-d", "postgres"], { input: text })
    .toString()
    .trim();
}

/** Runs a verb of the command line on the same database. */
export const cli = (...words) => execFileSync(LISTEN, words, { env: { ...process.env, USER: "olga" }, stdio: ["ignore", "pipe", "pipe"] }).toString();

/** What somebody said: never on a page. */
export const SAID = "The orchid on the balcony";

/** Somebody talks. */
export const talk = (service, n) =>
  ask(service, "conversations", { text: `${SAID} needs water ${n}. I must call the gardener by Friday.` });

/** Conversations that are done, `dead` of which become dead letters. */
export async function seed(service, { conversations, dead }) {
  for (let n = 0; n < conversations; n += 10) {
    await Promise.all(Array.from({ length: Math.min(10, conversations - n) }, (_, one) => talk(service, n + one)));
  }
  await until(() => sql("select count(*) from finalization_jobs where status <> 'completed'") === "0");
  sql(readFileSync("seed.sql", "utf8"), { dead });
  cli("verify", "--fix-totals", "--reason", "a seeded database");
}

/** Waits until something holds. */
export async function until(holds, seconds = 20) {
  const end = Date.now() + seconds * 1000;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`did not come true: ${holds}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
