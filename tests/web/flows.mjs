// What people do on the dashboard. A step waits for what it needs; nothing waits for a fixed time.

const at = async (page, name) => {
  // The page is there, and the menu closed again after the step before.
  await page.locator('.menu[aria-expanded="false"]').waitFor({ state: "attached" });
  const menu = page.getByRole("button", { name: "Menu" });
  if (await menu.isVisible()) await menu.click();
  await page.getByRole("navigation").getByRole("link", { name, exact: true }).click();
  await page.getByRole("heading", { level: 1, name }).waitFor();
};
const field = (page, label) => page.getByLabel(label, { exact: true });
const press = (page, name) => page.getByRole("button", { name, exact: true }).click();
const see = (page, text) => page.getByText(text).first().waitFor();

const VIEWS = ["Hot keys", "Why denied", "Policies", "Users", "Request tester", "Leases", "Audit", "Tokens", "Red switch", "Overview"];

async function overview({ open, check, shoot }) {
  for (const [name, size] of Object.entries({ light: {}, dark: { dark: true }, phone: { width: 390, height: 844 } })) {
    const page = await open(size);
    await page.getByRole("link", { name: "api.read" }).waitFor();
    await page.locator(".tile.bad strong", { hasText: /[1-9]/ }).waitFor(); // denials, live
    await page.locator(".spark polyline").first().waitFor({ state: "attached" }); // two points and more
    await page.locator(".plot canvas").first().waitFor();
    await check(page, `overview ${name}`);
    await shoot(page, `dashboard-${name}`);
  }
}

// Two nodes on one Redis: the page of an idle one shows the checks of the other.
async function nodes({ open, check, shoot }) {
  const page = await open();
  const table = page.getByRole("region", { name: "Nodes" });
  await table.getByRole("row").nth(2).waitFor(); // the head and two nodes
  await page.getByRole("link", { name: "shop.rule" }).waitFor();
  await page.locator(".tile.good strong", { hasText: /[1-9]/ }).waitFor();
  await table.getByRole("row", { name: /this page.*ready.* 0\/s/ }).waitFor();
  await table.getByRole("row", { name: /ready.*[1-9]/ }).first().waitFor();
  await check(page, "nodes");
  await shoot(page, "dashboard-nodes");
}

// 100,000 policies, and counts that rise by thousands between two looks: the page holds little and shows few rows.
const MANY = 100_000, HEAP_MAX = 150e6;
async function huge({ open, check, expect, url }) {
  const page = await open();
  const policy = (number) => ({
    id: `policy.${number}`, version: 1, source: "api",
    document: { id: `policy.${number}`, tenant: `tenant-${number % 997}`, resource: `/service/${number}/things/*`, owner: "a-team",
      limits: [{ name: "burst", per: ["tenant", "user"], rate: "100/s", burst: 20 }, { name: "day", per: ["tenant"], rate: "1000000/d" }] },
  });
  await page.route(`${url}/v1/policies?*`, (route) => {
    const from = Number(new URL(route.request().url()).searchParams.get("after") || 0), to = from + 1000;
    return route.fulfill({ json: { policies: Array.from({ length: 1000 }, (_, i) => policy(from + i)), next: to < MANY ? String(to) : null } });
  });
  let looks = 0;
  await page.route(`${url}/v1/nodes`, (route) => {
    ++looks;
    const counted_at = new Date(Date.UTC(2026, 0, 1, 0, 0, looks)).toISOString();
    const node = (id) => ({
      name: `node-${id}`, id: String(id), version: "1", started_at: counted_at, seen_at: counted_at, counted_at, is_self: id === 0,
      ready: true, draining: false, degraded: false, problems: [], threads: 2, connected: 2,
      checks: { allowed: looks * 100_000, denied: looks * 1000, degraded: 0, no_policy: 0 },
      latency: { bounds_us: [50, 100], counts: [looks * 1000, looks * 10, 0], sum_us: 1 },
      policies: Array.from({ length: 100 }, (_, i) => ({ policy_id: `policy.${i}`, allowed: looks * 1000, denied: looks * 10, degraded: 0 })),
    });
    return route.fulfill({ json: { nodes: Array.from({ length: 100 }, (_, i) => node(i)), problem: "" } });
  });
  await page.reload();
  await page.locator(".tile.good strong", { hasText: "10M/s" }).waitFor(); // 100 nodes with 100,000/s each
  await at(page, "Policies");
  await see(page, "100000 of 100000");
  const list = page.getByRole("region", { name: "Policies" });
  await list.focus();
  for (let step = 0; step < 50; ++step) {
    await list.evaluate((box, share) => { box.scrollTop = share * box.scrollHeight; }, step / 50);
    await page.getByRole("link", { name: `policy.${Math.max(4, Math.round(step / 50 * MANY))}`, exact: true }).waitFor();
    expect(await page.locator("tbody tr").count() < 60, "rows out of view are in the page");
  }
  await check(page, "100,000 policies");
  const debug = await page.context().newCDPSession(page);
  await debug.send("HeapProfiler.collectGarbage");
  const { usedSize } = await debug.send("Runtime.getHeapUsage");
  console.log(`${Math.round(usedSize / 1e6)} MB of heap after ${looks} looks`);
  expect(usedSize < HEAP_MAX, `the page holds ${usedSize} bytes`);
}

// Every view, in both widths and colours, without a finding.
async function views({ open, check, shoot }) {
  for (const size of [{}, { dark: true }, { width: 390, height: 844 }]) {
    const page = await open(size);
    page.expected = [404];
    for (const view of VIEWS) {
      await at(page, view);
      await page.getByText("Loading…").waitFor({ state: "hidden" });
      await check(page, `${view} ${JSON.stringify(size)}`);
      await shoot(page, `view-${view.toLowerCase().replaceAll(" ", "-")}-${size.dark ? "dark" : size.width ?? "light"}`);
    }
  }
}

async function hot_key({ open, check, shoot }) {
  const page = await open();
  await at(page, "Hot keys");
  await page.getByRole("row", { name: /whale.*demo · hour/ }).getByRole("button", { name: "Override 1 h" }).first().click();
  await field(page, "Limit per 3600 s").waitFor();
  await check(page, "override");
  await field(page, "Limit per 3600 s").fill("5000");
  await field(page, "Reason").fill("a launch");
  await shoot(page, "dashboard-override");
  await page.getByRole("dialog").getByRole("button", { name: "Override for 1 h" }).click();
  await see(page, /whale has 5000 per 3600 s of demo until/);
  await at(page, "Users");
  await field(page, "User").fill("whale");
  await press(page, "Show");
  await see(page, "override");
  await check(page, "users");
  await press(page, "End override");
  await page.getByRole("button", { name: "End override" }).waitFor({ state: "detached" });
}

async function policy({ open, check, shoot }) {
  const page = await open();
  page.expected = [400, 404];
  await at(page, "Policies");
  await page.getByRole("link", { name: "New policy" }).click();
  const text = field(page, "Policy document");
  await text.fill("id: night\nresource: /night\nlimits:\n  - { name: all, per: [tenant], rate: 5/q }");
  await press(page, "Validate");
  await page.getByRole("alert").filter({ hasText: "rate" }).waitFor(); // a mistake is named
  await text.fill("id: night\nresource: /night\nlimits:\n  - { name: all, per: [tenant], rate: 5/s }");
  await press(page, "Validate");
  await see(page, "Valid. Nothing was saved.");
  await press(page, "Save now");
  await see(page, "version 1");
  await text.fill((await text.inputValue()).replace("5/s", "7/s"));
  await page.locator(".diff .added", { hasText: "7/s" }).waitFor();
  await field(page, "Reason").fill("more at night");
  await press(page, "Save now");
  await see(page, "version 2");
  await page.getByRole("button", { name: "Changes" }).first().click();
  await page.locator(".versions .diff .removed", { hasText: "5/s" }).waitFor();
  await check(page, "policy");
  await shoot(page, "dashboard-policy");
  await press(page, "Roll back to 1");
  await field(page.getByRole("dialog"), "Reason").fill("too much");
  await press(page, "Roll back");
  await see(page, "version 3");
  await text.fill((await text.inputValue()).replace("5/s", "9/s"));
  await press(page, "Roll out in stages");
  await see(page, "running");
  await check(page, "rollout");
  await press(page, "Abort rollout");
  await see(page, "aborted");
}

async function red_switch({ open, check, shoot, expect }) {
  const page = await open();
  await at(page, "Red switch");
  await see(page, "limits are enforced");
  await field(page, "Reason").fill("limits hurt");
  expect(await page.getByRole("button", { name: "Open the switch" }).isDisabled(), "the switch opens without a confirmation");
  await field(page, "Type OPEN to confirm").fill("OPEN");
  await press(page, "Open the switch");
  await page.getByRole("timer").filter({ hasText: /min|h/ }).waitFor();
  await see(page, "The red switch is open");
  await check(page, "switch");
  await shoot(page, "dashboard-switch");
  await press(page, "Close it now");
  await see(page, "limits are enforced");
}

async function tester({ open, check, shoot }) {
  const page = await open();
  await at(page, "Request tester");
  await field(page, "Resource").fill("/login");
  await field(page, "Policy").fill("demo");
  await field(page, "Resource").fill("");
  await field(page, "Key").fill("it's me");
  await field(page, "Cost").fill("10");
  await press(page, "Send the check");
  await page.locator(".verdict", { hasText: "allowed" }).waitFor();
  await press(page, "Send the check");
  await page.locator(".verdict", { hasText: "denied" }).waitFor();
  await page.getByText(/curl -s http.*"policy_id":"demo"/s).waitFor();
  await check(page, "tester");
  await shoot(page, "dashboard-tester");
}

async function token({ open, check, url, token: secret }) {
  const page = await open();
  page.expected = [401, 403, 404];
  await field(page, "Token").fill("sluice_wrong");
  await press(page, "Log in");
  await page.getByRole("alert").waitFor();
  await check(page, "login");
  await field(page, "Token").fill(secret);
  await press(page, "Log in");
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  if (await page.evaluate(() => document.cookie)) throw new Error("a script can read the cookie");
  await at(page, "Tokens");
  await field(page, "Name").fill("shop-ci");
  await field(page, "Tenants").fill("shop");
  await press(page, "Create");
  const fresh = await page.locator(".secret").innerText();
  await page.goto(url); // the login holds
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  await press(page, "Log out");
  await field(page, "Token").fill(fresh);
  await press(page, "Log in");
  await see(page, "tenants shop");
  if (await page.getByRole("navigation").getByRole("link", { name: "Tokens" }).count()) throw new Error("a reader sees tokens");
  await at(page, "Policies");
  await page.getByRole("link", { name: "shop.rule" }).waitFor();
  if (await page.getByRole("link", { name: "api.read" }).count()) throw new Error("a tenant sees another's policy");
}

// 1,000 policies, of which only those in view are in the page; and everything by keyboard.
async function many({ open, check, expect }) {
  const page = await open();
  await at(page, "Policies");
  await page.getByText(/^1000 of 1000$/).waitFor();
  expect(await page.locator("tbody tr").count() < 60, "rows out of view are in the page");
  await page.getByRole("region", { name: "Policies" }).focus();
  await page.keyboard.press("End");
  await page.getByRole("link", { name: "p0999" }).waitFor();
  await check(page, "many policies");
  await field(page, "Search").fill("p0042");
  await page.getByText(/^1 of 1000$/).waitFor();
  await page.getByRole("link", { name: "p0042" }).focus();
  await page.keyboard.press("Enter");
  await page.getByText("version 1").first().waitFor();
}

export const flows = { overview, nodes, huge, views, hot_key, policy, red_switch, tester, token, many };
