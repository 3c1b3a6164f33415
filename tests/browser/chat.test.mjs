// The chat: a user asks, sees the answer come, loads it anew, and is told what failed.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { open, overflow, violations, window } from "./browser.mjs";
import { ask, start, until } from "./service.mjs";

let browser, service;
before(async () => {
  browser = await open();
  service = await start();
  const segments = [
    { text: "The lemon tree on the terrace needs a bigger pot.", speaker: "SPEAKER_00", is_user: true, start: 0, end: 4 },
    { text: "Then I will buy soil for the lemon tree by Saturday.", speaker: "SPEAKER_01", start: 4, end: 9 },
  ];
  await ask(service, "conversations/from-segments", { transcript_segments: segments });
  await until(async () => (await ask(service, "search?q=lemon")).length > 0, 60);
});
after(async () => {
  await browser?.close();
  await service?.stop();
});

const isIn = (page, state) => page.waitForFunction((state) => document.body.dataset.state === state, state);
const message = (page, text) => page.getByRole("log").getByRole("listitem").filter({ hasText: text });

async function come(page, key) {
  await page.goto(`${service.api}/live/chat`);
  await page.getByLabel("Your developer key").fill(key);
  await page.getByRole("button", { name: "Go on" }).click();
}

async function picture(page, name) {
  if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/chat-${name}.png` });
}

/** A stream that the test writes piece by piece: the page's own fetch is given it. */
async function streamByHand(page) {
  const seen = [];
  await page.exposeFunction("asked", (body) => seen.push(JSON.parse(body)));
  await page.evaluate(() => {
    const real = window.fetch;
    window.fetch = (path, options = {}) => {
      if (options.method !== "POST") return real(path, options);
      window.asked(options.body);
      const body = new ReadableStream({ start: (controller) => (window.stream = controller) });
      return Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } }));
    };
    window.send = (event, data) => window.stream.enqueue(new TextEncoder().encode(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`));
  });
  const send = (event, data) => page.evaluate(([event, data]) => window.send(event, data), [event, data]);
  return { seen, send };
}

test("a wrong key is refused in words", async () => {
  const { context, page } = await window(browser, { width: "phone" });
  await come(page, "lsk_of_nobody");
  await page.getByText("This key is not known here.").waitFor();
  assert.equal(await page.evaluate(() => sessionStorage.getItem("key")), null);
  await context.close();
});

test("Enter asks, the answer names what it rests on, and both are there after a reload", async () => {
  const { context, page, complaints } = await window(browser, { width: "phone" });
  await come(page, service.key);
  await page.getByLabel("Your message").fill("What do you know about the lemon tree?");
  await page.getByLabel("Your message").press("Enter");
  await message(page, "bigger pot").waitFor();
  await isIn(page, "ready");
  await page.getByText(/Where this comes from/).first().click();
  await page.getByLabel("Your message").fill("first line");
  await page.getByLabel("Your message").press("Shift+Enter");
  assert.equal(await page.getByLabel("Your message").inputValue(), "first line\n");
  await page.reload();
  await message(page, "What do you know about the lemon tree?").waitFor();
  assert.equal(await page.locator("#messages > li").count(), 2);
  assert.equal(await overflow(page), 0);
  assert.deepEqual(complaints, []);
  page.once("dialog", (dialog) => dialog.accept());
  await page.getByRole("button", { name: "Clear the chat" }).click();
  await page.getByText("Ask what you talked about yesterday").waitFor();
  await context.close();
});

test("while an answer is on its way it is shown as it comes, and a failure is told in words", async () => {
  const { context, page, complaints } = await window(browser, { width: "desk" });
  await come(page, service.key);
  await isIn(page, "ready");
  const { seen, send } = await streamByHand(page);
  await page.getByLabel("Your message").fill("Will it rain?");
  await page.getByRole("button", { name: "Send" }).click();
  await isIn(page, "answering");
  await message(page, "Thinking…").waitFor();
  await page.waitForFunction(() => window.stream);
  await send("status", { text: "Asking the sky…" });
  await message(page, "Asking the sky…").waitFor();
  await send("text", { delta: "It looks " });
  await message(page, "It looks").waitFor();
  await picture(page, "thinking-light-desk");
  const broken = { sender: "ai", text: "It looks ", status: "failed", error: { code: "model_timeout", detail: "The language model did not answer in time." } };
  await send("error", { code: "model_timeout", detail: "…" });
  await send("done", { message: broken });
  await page.evaluate(() => window.stream.close());
  await isIn(page, "failed");
  await message(page, "The language model did not answer in time.").waitFor();
  await picture(page, "failed-light-desk");
  assert.equal(seen.length, 1);
  assert.match(seen[0].id, /^[0-9a-f-]{36}$/);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("a stream that breaks is asked for again under the same id", async () => {
  const { context, page } = await window(browser, { width: "desk" });
  await come(page, service.key);
  await isIn(page, "ready");
  const ids = [];
  await page.route("**/v2/messages", async (route) => {
    if (route.request().method() !== "POST") return route.continue();
    ids.push(route.request().postDataJSON().id);
    if (ids.length === 1) return route.abort("connectionreset");
    return route.continue();
  });
  await page.getByLabel("Your message").fill("What is due?");
  await page.getByLabel("Your message").press("Enter");
  await isIn(page, "ready");
  assert.equal(ids.length, 2);
  assert.equal(ids[0], ids[1]);
  await context.close();
});

test("a refusal gives the words back only when nothing of them can have been stored", async () => {
  const { context, page } = await window(browser, { width: "desk" });
  await come(page, service.key);
  await isIn(page, "ready");
  const ids = [];
  let answers = [];
  await page.route("**/v2/messages", async (route) => {
    if (route.request().method() !== "POST") return route.continue();
    ids.push(route.request().postDataJSON().id);
    const status = answers.shift();
    if (status === "lost") return route.abort("connectionreset");
    return status ? route.fulfill({ status, json: {} }) : route.continue();
  });
  const question = page.getByLabel("Your message");
  answers = [429];
  await question.fill("What about the pot?");
  await question.press("Enter");
  await page.getByText("That was too much at once.").waitFor();
  assert.equal(await question.inputValue(), "What about the pot?");
  assert.equal(await message(page, "What about the pot?").count(), 0);
  // The connection was lost: the same message is asked for until the service answers.
  answers = ["lost", 429];
  await question.press("Enter");
  await isIn(page, "answering");
  await isIn(page, "ready");
  assert.equal(await message(page, "What about the pot?").count(), 1);
  assert.equal(ids.length, 4);
  assert.equal(new Set(ids.slice(1)).size, 1);
  answers = ["lost", 401];
  await question.fill("And the soil?");
  await question.press("Enter");
  await message(page, "This key was revoked.").waitFor();
  await isIn(page, "failed");
  assert.equal(await message(page, "And the soil?").count(), 1);
  assert.equal(await question.inputValue(), "");
  assert.equal(ids.length, 6);
  await context.close();
});

test("who may no longer look at an answer that is on its way is told so", async () => {
  const { context, page } = await window(browser, { width: "desk" });
  let looks = 0;
  await page.route("**/v2/messages?limit=50", (route) => {
    looks += 1;
    if (looks === 1) return route.fulfill({ json: [{ id: "one", sender: "ai", text: "So far", status: "running" }] });
    return route.fulfill({ status: looks === 2 ? 429 : 401, json: {} });
  });
  await come(page, service.key);
  await isIn(page, "failed");
  await message(page, "This key was revoked.").and(message(page, "So far")).waitFor();
  assert.equal(looks, 3);
  await context.close();
});

test("another key ends all that was begun with the one before", async () => {
  const { context, page, complaints } = await window(browser, { width: "desk" });
  await come(page, service.key);
  await isIn(page, "ready");
  const { seen, send } = await streamByHand(page);
  const question = page.getByLabel("Your message");
  const forget = page.getByRole("button", { name: "Another key" });
  await question.fill("Whose is this?");
  await question.press("Enter");
  await page.waitForFunction(() => window.stream);
  await send("text", { delta: "It is " });
  await message(page, "It is").waitFor();
  await question.fill("not sent yet");
  await forget.click();
  // The stream ends only now, and without an answer: nothing is shown or asked.
  await page.evaluate(() => window.stream.close());
  await page.waitForTimeout(2_500);
  assert.equal(await page.evaluate(() => document.body.dataset.state), "key");
  assert.equal(await page.locator("#chat").isVisible(), false);
  assert.equal(seen.length, 1);
  await page.getByLabel("Your developer key").fill(service.key);
  await page.getByRole("button", { name: "Go on" }).click();
  await isIn(page, "ready");
  assert.equal(await question.inputValue(), "");
  assert.equal(await message(page, "Whose is this?").count(), 0);
  // The same between two looks, and with a key that comes at once.
  await question.fill("And this?");
  await question.press("Enter");
  await isIn(page, "answering");
  await page.evaluate(() => window.stream.close());
  await forget.click();
  await page.getByLabel("Your developer key").fill(service.key);
  await page.getByRole("button", { name: "Go on" }).click();
  await isIn(page, "ready");
  await page.waitForTimeout(2_500);
  assert.equal(await page.evaluate(() => document.body.dataset.state), "ready");
  assert.equal(seen.length, 2);
  assert.deepEqual(complaints, []);
  await context.close();
});

for (const theme of ["light", "dark"]) {
  for (const width of ["phone", "desk"]) {
    test(`nothing bars anybody from it: ${theme}, ${width}`, async () => {
      const { context, page } = await window(browser, { theme, width, axe: true });
      await page.goto(`${service.api}/live/chat`);
      assert.deepEqual(await violations(page), []);
      await picture(page, `key-${theme}-${width}`);
      await come(page, service.key);
      await page.getByLabel("Your message").fill("What do you know about the lemon tree?");
      await page.getByLabel("Your message").press("Enter");
      await message(page, "bigger pot").first().waitFor();
      await isIn(page, "ready");
      assert.deepEqual(await violations(page), []);
      assert.equal(await overflow(page), 0);
      await picture(page, `answered-${theme}-${width}`);
      await context.close();
    });
  }
}
