// The page to speak to: somebody types, loads it anew, and sees what was made of it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { open, overflow, violations, window } from "./browser.mjs";
import { start } from "./service.mjs";

let browser, service;
before(async () => ([browser, service] = await Promise.all([open(), start()])));
after(async () => {
  await browser.close();
  await service.stop();
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
