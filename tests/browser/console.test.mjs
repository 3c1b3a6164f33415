// An operator's day at the console, in a browser, on the real service. The tests follow one another: each begins with
// what the ones before it left.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { open, signIn, window } from "./browser.mjs";
import { look } from "./look.mjs";
import { pages, quiet } from "./pages.mjs";
import { KEYS, ask, cli, receive, seed, sql, start, talk, until } from "./service.mjs";

const DEAD = 60;
let browser, service, receiver;

before(async () => {
  browser = await open();
  service = await start();
  receiver = await receive();
});

after(async () => {
  await browser?.close();
  receiver?.close();
  await service?.stop();
});

/** A window whose pages may complain of nothing. */
async function visit(t, options) {
  const visitor = await window(browser, options);
  t.after(async () => {
    await visitor.context.close();
    assert.deepEqual(visitor.complaints, []);
  });
  return visitor.page;
}

/** A window of somebody's, who has signed in. */
async function visitAs(t, who, path, options) {
  const page = await visit(t, options);
  await signIn(page, service, KEYS[who], path);
  return page;
}

const one = (table, id, where) => sql(`select ${id} from ${table} where ${where} limit 1`);
const deadJob = (code) => one("finalization_jobs", "job_id", `dead_code = '${code}'`);
const delivery = (hook, status) =>
  one("webhook_deliveries", "delivery_id", `endpoint_id = '${hook}' and status = '${status}'`);
const isLive = (page) => page.locator('#pulse[data-state="live"]').waitFor();
const sees = (page, text) => page.locator("main").getByText(text).first().waitFor();
/** From now on the page listens for an event of its script; `heard` waits until it came. */
const listen = (page, event) =>
  page.evaluate((name) => {
    globalThis.heard = new Promise((done) => document.addEventListener(name, () => done(), { once: true }));
  }, event);
const heard = (page) => page.evaluate(() => globalThis.heard);
const confirm = async (page, button, reason) => {
  await page.getByLabel(/^Why/).fill(reason);
  await page.getByRole("button", { name: button, exact: true }).click();
};

test("an empty service is looked at", async () => {
  await look(browser, service, quiet(), "empty");
});

test("a service with dead letters of five causes is looked at", async () => {
  const hook = (await ask(service, "webhooks", { url: receiver.url, events: ["conversation.completed"] })).id;
  await seed(service, { conversations: 80, dead: DEAD });
  await until(() => delivery(hook, "exhausted"));
  await look(browser, service, pages({ endpoint: hook, delivery: delivery(hook, "exhausted") }), "failing");
});

test("one signs in with a key and lands where one wanted to go", async (t) => {
  const page = await visit(t);
  await page.goto(`${service.desk}/jobs?status=dead_letter`);
  await page.getByLabel("Your key").fill("nobody's");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").getByText("This key is unknown.").waitFor();
  await page.getByLabel("Your key").fill(KEYS.ron);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL(`${service.desk}/jobs?status=dead_letter`);
  await page.getByText("read-only").waitFor();
});

test("the overview goes on by itself, and holds still when asked to", async (t) => {
  const page = await visitAs(t, "olga", "");
  await sees(page, `${DEAD} dead letters wait for an operator.`);
  await isLive(page);
  const completed = () => page.locator('a[href="/console/jobs?status=completed"]').innerText();
  const before = Number(await completed());
  await talk(service, "once more");
  await until(async () => Number(await completed()) === before + 1);

  await page.locator("#pulse").click();
  await page.locator('#pulse[data-state="held"]').waitFor();
  await talk(service, "and again");
  await page.waitForTimeout(2_500);
  assert.equal(Number(await completed()), before + 1, "it holds still");
  await page.locator("#pulse").click();
  await until(async () => Number(await completed()) === before + 2);
});

/** A list on which nothing changes by itself, as all that it holds is old; and one of its jobs. */
async function visitOld(t) {
  const job = one("finalization_jobs", "job_id", "dead_code = 'model_unavailable' and settled_at is null");
  sql(`update finalization_jobs set created_at = created_at - interval '9 days' where job_id = '${job}'`);
  const page = await visitAs(t, "olga", "/jobs?older_than=7d");
  await isLive(page);
  const row = page.locator("tr", { hasText: job });
  const settle = () => cli("jobs", "dismiss", job, "--reason", "nobody misses it", "--operator", "ron", "--yes");
  return { page, row, settle, settled: row.getByText("dismissed") };
}

test("what happens while a page is held is there when it goes on", async (t) => {
  const { page, settle, settled } = await visitOld(t);
  await page.locator("#pulse").click();
  settle();
  await listen(page, "live:asked");
  await heard(page);
  await page.locator('#pulse[data-state="held"]').waitFor();
  assert.equal(await settled.count(), 0, "it holds still");
  await page.locator("#pulse").click();
  await settled.waitFor();
  await isLive(page);
});

test("what happens while text is selected is there when the selection goes", async (t) => {
  const { page, row, settle, settled } = await visitOld(t);
  await row.locator('td[data-name="User"]').selectText();
  settle();
  await page.locator('#pulse[data-state="behind"]').waitFor();
  assert.equal(await settled.count(), 0, "no text is taken away from under a selection");
  await page.locator("h1").click();
  await settled.waitFor();
  await isLive(page);
});

test("jobs are filtered, and the address shows others the same", async (t) => {
  const page = await visitAs(t, "olga", "/jobs");
  await page.locator("nav.tabs").getByRole("link", { name: /^dead letter/ }).click();
  await page.waitForURL(/status=dead_letter/);
  await isLive(page);
  await page.evaluate(() => (document.body.dataset.same = "page"));
  await page.getByLabel("Code").selectOption("model_timeout");
  await page.waitForURL(/status=dead_letter.*code=model_timeout/);
  const rows = (of) => of.locator('td[data-name="Job"]').allInnerTexts();
  await until(async () => (await rows(page)).length === DEAD / 5);
  assert.equal(await page.evaluate(() => document.body.dataset.same), "page", "the filter applied by itself");
  const seen = await rows(page);
  const other = await visitAs(t, "ron", "/jobs");
  await other.goto(page.url());
  assert.deepEqual(await rows(other), seen);
  assert.equal(await other.getByLabel("Code").inputValue(), "model_timeout");
});

test("a job's page explains it, and follows what others do to it", async (t) => {
  const job = deadJob("model_timeout");
  const page = await visitAs(t, "ron", `/jobs/${job}`);
  for (const words of ["guard: dead_letter", "claim", "fail", "model_timeout"]) {
    await sees(page, words);
  }
  await isLive(page);
  await page.evaluate(() => (document.body.dataset.same = "page"));
  cli("jobs", "replay", job, "--reason", "the model answers again", "--operator", "olga", "--yes");
  await page.locator('.way [aria-current="step"]').getByText("completed").waitFor();
  await sees(page, "the model answers again");
  assert.equal(await page.evaluate(() => document.body.dataset.same), "page", "it was not loaded anew");
});

for (const scripts of [true, false]) {
  test(`a job is replayed after a look at what will happen, ${scripts ? "with" : "without"} scripts`, async (t) => {
    const job = deadJob("internal");
    const page = await visitAs(t, "olga", `/jobs/${job}`, { scripts });
    await page.getByRole("link", { name: "Replay…" }).click();
    await sees(page, "The job is queued again with the next generation");
    await page.getByRole("button", { name: "Replay" }).click();
    assert.match(page.url(), /\/replay$/, "without a reason nothing is sent");
    await confirm(page, "Replay", "the defect is repaired");
    await page.getByRole("status").getByText("Replayed. The job is queued again.").waitFor();
    await until(() => one("finalization_jobs", "status", `job_id = '${job}'`) === "completed");
    if (!scripts) await page.reload();
    await page.locator('.way [aria-current="step"]').getByText("completed").waitFor();
    await sees(page, "the defect is repaired");
  });
}

test("a job is replayed with nothing but the keyboard", async (t) => {
  const page = await visitAs(t, "olga", "/jobs?status=dead_letter&code=poison_crash");
  await isLive(page);
  /** Goes on with Tab until this has the focus. */
  const tabTo = async (text) => {
    for (let step = 0; step < 80; step += 1) {
      await page.keyboard.press("Tab");
      const at = await page.evaluate(() => document.activeElement.textContent.trim());
      if (typeof text === "string" ? at === text : text.test(at)) return;
    }
    assert.fail(`${text} is not reached`);
  };
  await tabTo(/^fj_/);
  // The page goes on meanwhile, and leaves the focus where it is.
  await page.waitForTimeout(2_200);
  const job = await page.evaluate(() => document.activeElement.textContent.trim());
  assert.match(job, /^fj_/);
  await page.keyboard.press("Enter");
  await page.waitForURL(`${service.desk}/jobs/${job}`);
  await tabTo("Replay…");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/replay$/);
  await page.locator('input[name="reason"]:focus').waitFor();
  await page.keyboard.type("by hand alone");
  await page.keyboard.press("Enter");
  await page.getByRole("status").waitFor();
  await until(() => one("finalization_jobs", "status", `job_id = '${job}'`) === "completed");
});

test("many are replayed at a bounded rate: begun, paused, resumed and cancelled", async (t) => {
  const page = await visitAs(t, "olga", "");
  await page.getByRole("link", { name: "Replay those of model_malformed" }).click();
  await page.getByRole("heading", { name: `Replay ${DEAD / 5} dead letters of 1 user?` }).waitFor();
  await page.getByLabel("Jobs a minute").fill("20");
  await page.getByLabel("Unfinished at once").fill("1");
  await confirm(page, "Replay", "the model is mended");
  await page.getByRole("status").getByText("The replay has begun.").waitFor();
  const number = async (words) =>
    Number(await page.locator(".tiles div", { hasText: words }).locator("dd").innerText());
  await page.evaluate(() => (document.body.dataset.same = "page"));
  await until(async () => (await number("completed")) >= 2);
  assert.equal(await page.evaluate(() => document.body.dataset.same), "page", "progress came by itself");

  await page.getByRole("link", { name: "Pause…" }).click();
  await confirm(page, "Pause", "a look at what came of it");
  await page.getByRole("status").getByText("Paused.").waitFor();
  await page.getByRole("link", { name: "Resume…" }).click();
  const before = sql("select replayed from replay_operations");
  await confirm(page, "Resume", "it went well");
  await until(() => Number(sql("select replayed from replay_operations")) > Number(before));
  await page.getByRole("link", { name: "Cancel…" }).click();
  await confirm(page, "Cancel", "enough for today");
  await page.getByRole("status").getByText("Cancelled.").waitFor();
  await page.locator(".chip.cancelled").first().waitFor();
  assert.ok(Number(one("dead_letter_totals", "sum(jobs)", "code = 'model_malformed'")) > 0, "the rest waits");
});

test("an endpoint is looked at, and what it lost is delivered once more", async (t) => {
  const own = await receive();
  t.after(() => own.close());
  const hook = (await ask(service, "webhooks", { url: own.url, events: ["conversation.completed"] })).id;
  await talk(service, "for the endpoint");
  await talk(service, "for it, too");
  await until(() => one("webhook_deliveries", "count(*)", `endpoint_id = '${hook}' and status = 'exhausted'`) === "2");
  own.status = 200;

  const page = await visitAs(t, "olga", "/webhooks");
  await page.locator(`a[href*="endpoint?user=me&endpoint=${hook}"]`).first().click();
  await sees(page, "Nothing got through since");
  assert.ok(!(await page.content()).includes("a-secret"), "no page shows a URL's secrets");
  await page.locator(".tabs").getByRole("link", { name: "given up" }).click();
  const lost = page.locator('td[data-name="Delivery"] a');
  await page.waitForURL(/status=exhausted/);
  await until(async () => (await lost.count()) === 2);
  await lost.first().click();
  await sees(page, "It was tried once, and was given up");
  await sees(page, "400");
  await page.getByRole("link", { name: "Redeliver…" }).click();
  await confirm(page, "Redeliver", "the receiver is mended");
  await page.locator('.way [aria-current="step"]').getByText("delivered").waitFor();
  await sees(page, "the receiver is mended");

  await page.locator(".crumbs a").last().click();
  await page.getByRole("link", { name: "Recover what was given up…" }).click();
  await page.getByLabel(/How far back/).fill("1h");
  await confirm(page, "Recover", "and the rest");
  await page.getByRole("status").getByText("What was given up is due again.").waitFor();
  await until(() => one("webhook_deliveries", "count(*)", `endpoint_id = '${hook}' and status = 'delivered'`) === "2");
  await sees(page, "It takes what it is sent.");

  own.status = 410;
  await talk(service, "for an endpoint that is gone");
  await sees(page, "Nothing is sent until it is enabled.");
  await page.getByRole("link", { name: "Enable…" }).click();
  await confirm(page, "Enable", "it is there again");
  await page.getByRole("status").getByText("Enabled.").waitFor();
});

test("a busy service is looked at", async () => {
  cli("jobs", "pause", "creation", "--reason", "a quiet moment");
  await Promise.all([1, 2, 3, 4, 5, 6].map((n) => talk(service, `while it is paused ${n}`)));
  cli("jobs", "replay", "--code", "model_unavailable", "--rate", "6", "--detach", "--reason", "slowly", "--yes");
  await until(() => Number(sql("select sum(replayed) from replay_operations where status = 'running'")) > 0);
  const busy = ["overview", "jobs", "replays", "replay", "job-queued", "audit"];
  await look(browser, service, pages().filter(([name]) => busy.includes(name)), "busy");
  cli("jobs", "resume", "creation", "--reason", "it was quiet enough");
});

test("who may only read sees nothing that changes anything", async (t) => {
  const page = await visitAs(t, "ron", "");
  const hook = one("webhook_endpoints", "endpoint_id", "true");
  for (const [name, path] of pages({ endpoint: hook, delivery: delivery(hook, "exhausted") })) {
    if (["login", "missing", "unreadable"].includes(name)) continue;
    await page.goto(service.desk + path);
    const posts = await page.locator('form[method="post"]').count();
    assert.equal(posts, 1, `${name}: signing out is all that is posted`);
    const acts = page.locator("main").getByRole("link", { name: /…$/ });
    assert.deepEqual(await acts.allInnerTexts(), [], name);
  }
});

test("rows are selected and dismissed together", async (t) => {
  const page = await visitAs(t, "olga", "/jobs?status=dead_letter&unsettled=1");
  await isLive(page);
  const boxes = page.getByRole("checkbox", { name: /^Select fj_/ });
  const jobs = [await boxes.nth(0).inputValue(), await boxes.nth(1).inputValue()];
  await boxes.nth(0).check();
  await boxes.nth(1).check();
  // The page goes on meanwhile, and leaves what was ticked.
  await page.waitForTimeout(2_500);
  assert.ok(await boxes.nth(1).isChecked());
  await page.getByRole("button", { name: "Dismiss selected…" }).click();
  await page.getByRole("heading", { name: "Dismiss 2 jobs?" }).waitFor();
  await confirm(page, "Dismiss", "they are of no use");
  await page.getByRole("heading", { name: "2 dismissed, 0 refused" }).waitFor();
  for (const job of jobs) {
    assert.equal(one("finalization_jobs", "settled_at is not null", `job_id = '${job}'`), "t");
  }
});

test("any id is found from any page, by its end", async (t) => {
  const job = deadJob("model_timeout") || one("finalization_jobs", "job_id", "true");
  const page = await visitAs(t, "ron", "/audit");
  await page.getByLabel("Any id").fill(job.slice(-10));
  await page.keyboard.press("Enter");
  await page.waitForURL(`${service.desk}/jobs/${job}`);
});

test("the audit tells who did what, and why", async (t) => {
  const page = await visitAs(t, "ron", "/audit");
  for (const reason of ["by hand alone", "enough for today", "the receiver is mended", "it is there again"]) {
    await sees(page, reason);
  }
  await page.getByLabel("Action").selectOption("cancel_bulk");
  await page.getByRole("button", { name: "Show" }).click();
  await page.waitForURL(/action=cancel_bulk/);
  assert.equal(await page.locator('td[data-name="Why"]').count(), 1);
});

test("one signs out, and the pages are closed", async (t) => {
  const page = await visitAs(t, "olga", "");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.waitForURL(`${service.desk}/login`);
  await page.goto(`${service.desk}/audit`);
  await page.getByLabel("Your key").waitFor();
});

test("open pages do not hold up a service that stops, and say that it is gone", async (t) => {
  const [page, held] = await Promise.all(
    ["", "/jobs"].map(async (path) => {
      const { context, page } = await window(browser);
      t.after(() => context.close());
      await signIn(page, service, KEYS.olga, path);
      await isLive(page);
      return page;
    }),
  );
  await held.locator("#pulse").click();
  const { code, milliseconds } = await service.stop();
  assert.equal(code, 0, service.log());
  assert.ok(milliseconds < 5_000, `it took ${milliseconds} ms`);
  await page.locator('#pulse[data-state="away"]').waitFor();
  await listen(held, "live:asked");
  await heard(held);
  await held.locator("#pulse").click();
  assert.equal(await held.locator("#pulse").getAttribute("data-state"), "away", "what was known while it was held");
});
