// What the page looks at all the time: metrics, readiness and the switch, every two seconds while it is visible.
import { useEffect, useState } from "preact/hooks";
import { ApiError, get, text_of } from "./api";
import { Counts, Page, quantile, rate, read_page } from "./metrics";
import type { Readiness, Switch } from "./types";

const PERIOD_MS = 2000;
const POINTS_MAX = 180;
const LARGE_PAGE = 2_000_000; // characters; such a page is asked for less often

export interface Point extends Counts { at: number; p50: number; p99: number }
export interface Live {
  points: Point[];
  policies: Map<string, { now: Counts; total: Counts; past: number[] }>;
  page: Page | null;
  readiness: Readiness | null;
  breaker: Switch | null; // the big red switch; null: this caller may not see it
  error: string;
}

let live: Live = { points: [], policies: new Map(), page: null, readiness: null, breaker: null, error: "" };
const watchers = new Set<(now: Live) => void>();
let timer: number | undefined;
let is_running = false;

function advance(page: Page) {
  const last = live.page;
  live = { ...live, page, error: "" };
  if (!last) return;
  const ms = page.at - last.at;
  live.points = [...live.points, {
    at: page.at / 1000, ...rate(last.total, page.total, ms),
    p50: quantile(0.5, last.buckets, page.buckets), p99: quantile(0.99, last.buckets, page.buckets),
  }].slice(-POINTS_MAX);
  const policies: Live["policies"] = new Map();
  for (const [id, total] of page.policies) {
    const now = rate(last.policies.get(id), total, ms);
    const past = [...(live.policies.get(id)?.past ?? []), now.allowed + now.denied].slice(-40);
    policies.set(id, { now, total, past });
  }
  live.policies = policies;
}

export async function refresh() {
  let wait = PERIOD_MS;
  try {
    const text = await text_of("/metrics");
    if (text.length > LARGE_PAGE) wait = 10 * PERIOD_MS;
    advance(read_page(text, Date.now()));
    live.readiness = JSON.parse(await text_of("/readyz"));
    live.breaker = await get<Switch>("/v1/switch").catch((error) => {
      if (error instanceof ApiError && error.status === 403) return null;
      throw error;
    });
  } catch (error) {
    live = { ...live, error: (error as Error).message };
  }
  for (const tell of watchers) tell({ ...live });
  return wait;
}

async function run() {
  const wait = document.hidden ? PERIOD_MS : await refresh();
  if (is_running) timer = window.setTimeout(run, wait);
}

export function start() {
  if (is_running) return;
  is_running = true;
  void run();
}
export function stop() {
  is_running = false;
  window.clearTimeout(timer);
}

export function use_live(): Live {
  const [now, set] = useState(live);
  useEffect(() => {
    watchers.add(set);
    return () => { watchers.delete(set); };
  }, []);
  return now;
}

