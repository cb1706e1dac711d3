// One flow in Chromium: node browser.mjs FLOW URL PICTURES [TOKEN]. Ends with 0 if all went well.
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { flows } from "./flows.mjs";

const require = createRequire(new URL("../../web/package.json", import.meta.url));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const [name, url, pictures, token] = process.argv.slice(2);
const WAIT_MS = 120_000; // for what must happen, however busy the machine is
mkdirSync(pictures, { recursive: true });

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", timeout: WAIT_MS,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
});
const problems = [];

async function open({ width = 1280, height = 860, dark = false } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: dark ? "dark" : "light", bypassCSP: false });
  const page = await context.newPage();
  page.setDefaultTimeout(WAIT_MS);
  page.expected = []; // statuses that a flow provokes on purpose
  page.on("console", (message) => {
    const text = message.text();
    if (message.type() === "error" && !page.expected.some((status) => text.includes(`status of ${status}`))) problems.push(`console: ${text}`);
  });
  page.on("pageerror", (error) => problems.push(`script: ${error.message}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(url) && !request.url().startsWith("data:")) problems.push(`request to ${request.url()}`);
  });
  await page.goto(url);
  return page;
}

// axe-core is evaluated by the debugger, which no Content-Security-Policy stops.
async function check(page, where) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  for (const { id, help, nodes } of violations) problems.push(`axe at ${where}: ${id}: ${help}: ${nodes.map((node) => node.html.slice(0, 160)).join(" | ")}`);
  const wider = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  if (wider > 0) problems.push(`${where} is ${wider} px wider than the window`);
}

const shoot = (page, picture) => page.screenshot({ path: `${pictures}/${picture}.png` });

try {
  await flows[name]({ open, check, shoot, url, token, expect: (ok, what) => { if (!ok) problems.push(what); } });
} catch (error) {
  problems.push(String(error));
} finally {
  await browser.close();
}
for (const problem of problems) console.error(problem);
process.exit(problems.length ? 1 : 0);
