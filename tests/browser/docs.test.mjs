// The page that shows the interface: it loads under its own policy, an operation is tried with a key, and it looks well.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { open, overflow, window } from "./browser.mjs";
import { start } from "./service.mjs";

let browser, service;
before(async () => {
  browser = await open();
  service = await start();
});
after(async () => {
  await browser?.close();
  await service?.stop();
});

/** A window with time for a page of seventy operations on a busy machine. */
async function patient(options) {
  const visitor = await window(browser, options);
  visitor.page.setDefaultTimeout(60_000);
  return visitor;
}

/** Opens the page and the operation of that id. */
async function operation(page, group, id) {
  await page.goto(`${service.api}/docs`);
  const shown = page.locator(`#operations-${group}-${id}`);
  await shown.locator(".opblock-summary-control").click();
  return shown;
}

test("an operation is tried with a key, and nothing comes from elsewhere", async () => {
  const { context, page, complaints } = await patient();
  const asked = [];
  page.on("request", (request) => asked.push(new URL(request.url())));
  const shown = await operation(page, "Goals", "create_goal");
  await page.getByRole("button", { name: "Authorize", exact: true }).click();
  const dialog = page.locator(".modal-ux");
  await dialog.getByLabel("auth-bearer-value").first().fill(service.key);
  await dialog.getByRole("button", { name: /Apply/ }).first().click();
  await dialog.getByRole("button", { name: "Close" }).first().click();
  await shown.getByRole("button", { name: "Execute" }).click();
  const answer = shown.locator(".live-responses-table .response");
  await answer.getByText("200", { exact: true }).waitFor();
  await answer.getByText("Read a book a month").waitFor();
  assert.ok(asked.every((url) => url.origin === service.api || url.protocol === "data:"), asked.join("\n"));
  assert.deepEqual(complaints, []);
  await context.close();
});

for (const theme of ["light", "dark"]) {
  test(`every group is shown, and the page fits a phone: ${theme}`, async () => {
    const { context, page, complaints } = await patient({ theme, width: "phone" });
    await page.goto(`${service.api}/docs`);
    await page.locator("#operations-Service-get_status").waitFor();
    const { tags } = await (await fetch(`${service.api}/openapi.json`)).json();
    assert.equal(await page.locator(".opblock-tag-section").count(), tags.length);
    assert.equal(await overflow(page), 0);
    assert.deepEqual(complaints, []);
    if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/docs-${theme}.png` });
    await context.close();
  });
}
