// Looks at every page in both themes and widths: nothing axe finds, nothing wider than the window, no complaint.
import assert from "node:assert/strict";
import { overflow, shoot, violations, window } from "./browser.mjs";
import { KEYS, SAID } from "./service.mjs";

const VARIANTS = ["light", "dark"].flatMap((theme) => ["phone", "desk"].map((width) => ({ theme, width })));

/** Looks at `pages` as Olga; pictures are kept as `state`. */
export async function look(browser, service, pages, state) {
  const wrong = await Promise.all(VARIANTS.map((variant) => lookAs(browser, service, pages, state, variant)));
  assert.deepEqual(wrong.flat(), []);
}

async function lookAs(browser, service, pages, state, { theme, width }) {
  const wrong = [];
  const { context, page, complaints } = await window(browser, { theme, width, axe: true });
  await context.request.post(`${service.desk}/login`, { form: { key: KEYS.olga } });
  for (const [name, path] of pages) {
    await page.goto(service.desk + path);
    const where = `${state}/${name}, ${theme}, ${width}`;
    for (const violation of await violations(page)) wrong.push(`${where}: ${violation}`);
    if ((await overflow(page)) > 0) wrong.push(`${where}: wider than its window`);
    if ((await page.content()).includes(SAID)) wrong.push(`${where}: shows what somebody said`);
    await shoot(page, `${state}-${name}-${theme}-${width}`);
  }
  await context.close();
  return [...wrong, ...complaints.map((complaint) => `${state}, ${theme}, ${width}: ${complaint}`)];
}
