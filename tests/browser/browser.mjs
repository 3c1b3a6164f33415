// Debian's Chromium, with eyes for what a page complains of.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { chromium } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
  // A microphone that nobody is asked for: it beeps.
  "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream",
];
export const WIDTHS = { phone: { width: 390, height: 844 }, desk: { width: 1440, height: 900 } };

export const open = () => chromium.launch({ executablePath: process.env.CHROMIUM, headless: true, args: FLAGS });

/** A window of its own. `complaints` are errors of its pages: scripts, and what the content policy forbade. */
export async function window(browser, { theme = "light", width = "desk", scripts = true, axe = false } = {}) {
  // axe is put into the page past its content policy; journeys live under it.
  const context = await browser.newContext({
    colorScheme: theme, viewport: WIDTHS[width], javaScriptEnabled: scripts, bypassCSP: axe, reducedMotion: "reduce",
  });
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    // A page that is not found is a page, too.
    if (message.type() === "error" && !/status of 4\d\d/.test(message.text())) complaints.push(message.text());
  });
  return { context, page, complaints };
}

/** Signs in with somebody's key, and lands where `path` says. */
export async function signIn(page, service, key, path = "") {
  await page.goto(service.desk + path);
  await page.getByLabel("Your key").fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL(service.desk + path);
}

/** What axe finds wrong, in words. */
export async function violations(page) {
  await page.evaluate(AXE);
  const found = await page.evaluate(() =>
    // The best practices are kept, too: all rules but experimental ones.
    axe.run(document, { resultTypes: ["violations"] }),
  );
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 160)).join(" | ")}`);
}

/** Keeps a picture of the page, where pictures are wanted. */
export const shoot = (page, name) =>
  process.env.PICTURES && page.screenshot({ path: `${process.env.PICTURES}/${name}.png`, fullPage: true });

/** How many pixels the page is wider than its window, or its navigation or a filter's label than its place: the rest is not seen. */
export const overflow = (page) =>
  page.evaluate(() => {
    const parts = [document.documentElement, ...document.querySelectorAll("header nav, .filter > label")];
    return Math.max(...parts.map((part) => part.scrollWidth - part.clientWidth));
  });
