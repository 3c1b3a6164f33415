// The page to speak to: somebody types, loads it anew, and sees what was made of it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { open, overflow, shoot, violations, window } from "./browser.mjs";
import { start, until } from "./service.mjs";

let browser, service;
before(async () => {
  browser = await open();
  service = await start();
});
after(async () => {
  await browser?.close();
  await service?.stop();
});

const isIn = (page, state) => page.waitForFunction((state) => document.body.dataset.state === state, state);

async function come(page, key) {
  await page.goto(`${service.api}/live`);
  await page.getByLabel("Your developer key").fill(key);
  await page.getByRole("button", { name: "Go on" }).click();
}

async function type(page, sentence) {
  await page.getByLabel("Type a sentence").fill(sentence);
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByRole("listitem").filter({ hasText: sentence }).waitFor();
}

/** Those of the answers to the page's requests that the browser keeps. */
const cached = (page) =>
  page.evaluate(async () => {
    const asked = performance.getEntriesByType("resource").filter(({ name }) => name.includes("/v1/"));
    const kept = async ({ name }) => (await fetch(name, { cache: "only-if-cached", mode: "same-origin" }).catch(() => null))?.ok;
    const all = await Promise.all(asked.map(async (one) => (await kept(one)) && one.name));
    return asked.length > 0 ? all.filter(Boolean) : ["nothing was asked"];
  });

test("a wrong key is refused in words", async () => {
  const { context, page } = await window(browser, { width: "phone" });
  await come(page, "lsk_of_nobody");
  await page.getByText("This key is not known here.").waitFor();
  assert.equal(await page.evaluate(() => sessionStorage.getItem("key")), null);
  await context.close();
});

test("what is typed survives a reload and becomes a conversation, under the page's own policy", async () => {
  const { context, page, complaints } = await window(browser, { width: "phone" });
  await come(page, service.key);
  await page.getByRole("button", { name: "Type instead" }).click();
  await type(page, "I must call the dentist by Friday.");
  await page.reload();
  await page.getByRole("button", { name: "Type instead" }).click();
  await page.getByText("I must call the dentist by Friday.").waitFor();
  await type(page, "My sister lives in Porto and visits us next week.");
  await page.getByRole("button", { name: "Finish" }).click();
  await isIn(page, "done");
  await page.locator("#tasks").getByText("Call the dentist").waitFor();
  assert.equal(await overflow(page), 0);
  assert.deepEqual(complaints, []);
  assert.deepEqual(await cached(page), [], "whoever uses the browser next could read it");
  await context.close();
});

test("what is typed in Arabic is set from right to left, and told to be in the browser's language", async () => {
  const { context, page, complaints } = await window(browser, { width: "phone" });
  await come(page, service.key);
  const opened = page.waitForEvent("websocket");
  await page.getByRole("button", { name: "Type instead" }).click();
  assert.equal(new URL((await opened).url()).searchParams.get("language"), await page.evaluate(() => navigator.language.split("-")[0]));
  await type(page, "غداً لدينا اجتماع مع المدير حول الميزانية.");
  const said = page.locator("#segments p").getByText("غداً");
  await said.waitFor();
  assert.equal(await said.evaluate((shown) => getComputedStyle(shown).direction), "rtl");
  await page.getByRole("button", { name: "Finish" }).click();
  await isIn(page, "done");
  assert.equal(await page.locator("#overview").evaluate((shown) => getComputedStyle(shown).direction), "rtl");
  assert.deepEqual(complaints, []);
  await context.close();
});

/** A service whose engine gives words before they are final: what it sends is said by `say`. */
async function recognizing(page) {
  const socket = await new Promise((resolve) => {
    page.routeWebSocket(/\/v4\/web\/listen/, (route) => {
      route.onMessage((message) => {
        if (typeof message === "string" && JSON.parse(message).type === "auth") {
          route.send(JSON.stringify({ type: "auth_response", success: true }));
          resolve(route);
        }
      });
    });
    page.getByRole("button", { name: "Speak" }).click();
  });
  const segment = (id, text, number) => ({
    id, text, speaker: `SPEAKER_0${number}`, speaker_id: number, is_user: false, person_id: null, start: 0, end: 2, stt_provider: "deepgram",
  });
  return {
    perhaps: (...segments) =>
      socket.send(JSON.stringify({ type: "interim_transcript", segments: segments.map(([text, number]) => ({ text, speaker: `SPEAKER_0${number}` })) })),
    surely: (id, text, number) => socket.send(JSON.stringify([segment(id, text, number)])),
    cut: () => socket.close({ code: 1012 }),
  };
}

for (const [theme, width] of [["light", "phone"], ["dark", "phone"], ["light", "desk"], ["dark", "desk"]]) {
  test(`words that may still change are grey until others replace them: ${theme}, ${width}`, async () => {
    const { context, page, complaints } = await window(browser, { theme, width, axe: true });
    await come(page, service.key);
    const engine = await recognizing(page);
    await isIn(page, "listening");
    const [provisional, final] = [page.locator("#interim li"), page.locator("#segments li")];

    engine.perhaps(["I must call", 0]);
    await provisional.getByText("I must call").waitFor();
    assert.equal(await page.locator("#empty").isVisible(), false);
    engine.perhaps(["I must call the dentist", 0], ["Which one", 1]);
    await provisional.getByText("Which one").waitFor();
    assert.deepEqual(await provisional.locator("p").allTextContents(), ["I must call the dentist", "Which one"]);

    engine.surely("s1", "I must call the dentist by Friday.", 0);
    await final.getByText("I must call the dentist by Friday.").waitFor();
    assert.equal(await provisional.count(), 0, "nothing of what was provisional is left");
    engine.perhaps(["Which one do you", 1]);
    await provisional.getByText("Which one do you").waitFor();

    const colour = (text) => page.getByText(text).evaluate((element) => getComputedStyle(element).color);
    assert.notEqual(await colour("Which one do you"), await colour("by Friday."));
    assert.equal(await overflow(page), 0);
    assert.deepEqual(await violations(page), []);
    await shoot(page, `interim-${theme}-${width}`);
    engine.cut();
    await isIn(page, "lost");
    assert.equal(await provisional.count(), 0, "what was not final may never come");
    assert.deepEqual(complaints.filter((complaint) => !/WebSocket/.test(complaint)), []);
    await context.close();
  });
}

test("a user who may store no more is told so, and keeps the key", async () => {
  const { context, page } = await window(browser, { width: "phone" });
  await page.routeWebSocket(/\/v4\/web\/listen/, (route) => {
    route.onMessage(() => {
      route.send(JSON.stringify({ type: "auth_response", success: true }));
      route.close({ code: 1008, reason: "over_budget" });
    });
  });
  await come(page, service.key);
  await page.getByRole("button", { name: "Type instead" }).click();
  await page.getByText("You have used up what you may store").waitFor();
  assert.equal(await page.evaluate(() => sessionStorage.getItem("key")), service.key);
  await context.close();
});

test("a conversation that is deleted while it is processed is waited for no longer", async () => {
  const { context, page } = await window(browser, { width: "phone" });
  await come(page, service.key);
  await page.getByRole("button", { name: "Type instead" }).click();
  await type(page, "I must water the plants.");
  await page.route(/\/v1\/conversations$/, (route) => route.fulfill({ json: { conversation: { id: "deleted" } } }));
  await page.getByRole("button", { name: "Finish" }).click();
  await isIn(page, "gone");
  await page.getByRole("button", { name: "Start another" }).click();
  await isIn(page, "ready");
  assert.equal(await page.evaluate(() => sessionStorage.getItem("conversation")), null);
  await context.close();
});

test("a service that accepts and closes at once is asked less and less often", async () => {
  const { context, page } = await window(browser, { width: "phone" });
  const asked = [];
  await page.routeWebSocket(/\/v4\/web\/listen/, (route) => {
    route.onMessage(() => {
      asked.push(performance.now());
      route.send(JSON.stringify({ type: "auth_response", success: true }));
      route.close({ code: asked.length < 3 ? 1012 : 1000 });
    });
  });
  await come(page, service.key);
  await page.getByRole("button", { name: "Type instead" }).click();
  await until(() => asked.length >= 4);
  const waits = asked.slice(1).map((at, nth) => at - asked[nth]);
  assert.ok(waits[1] > 1_500 && waits[2] > 3_000, `${waits}`);
  await context.close();
});

for (const theme of ["light", "dark"]) {
  test(`nothing bars anybody from it: ${theme}`, async () => {
    const { context, page } = await window(browser, { theme, width: "phone", axe: true });
    await page.goto(`${service.api}/live`);
    assert.deepEqual(await violations(page), []);
    await come(page, service.key);
    await page.getByRole("button", { name: "Type instead" }).click();
    await isIn(page, "typing");
    assert.deepEqual(await violations(page), []);
    await context.close();
  });
}
