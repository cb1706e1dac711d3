// What the page looks at all the time: the nodes, metrics, readiness and the switch, every two seconds while it
// is visible.
import { useEffect, useState } from "preact/hooks";
import { ApiError, get, text_of } from "./api";
import { Counts, Page, read_page } from "./metrics";
import { advance_node, NodeRates, NodesView, together } from "./nodes";
import type { Readiness, Switch } from "./types";

const PERIOD_MS = 2000;
const POINTS_MAX = 180;
const LARGE_PAGE = 2_000_000; // characters; such a page is asked for less often

export interface Point extends Counts { at: number; p50: number; p99: number }
export interface Live {
  points: Point[];
  policies: Map<string, { now: Counts; total: Counts; past: number[] }>;
  nodes: NodeRates[];
  total: Counts | null; // since the starts of the nodes
  page: Page | null; // the metrics of the node that serves the page
  readiness: Readiness | null;
  breaker: Switch | null; // the big red switch; null: this caller may not see it
  problem: string; // why nodes may be missing
  error: string;
}

let live: Live = { points: [], policies: new Map(), nodes: [], total: null, page: null, readiness: null, breaker: null, problem: "", error: "" };
const watchers = new Set<(now: Live) => void>();
let timer: number | undefined;
let is_running = false;

function advance({ nodes, problem }: NodesView) {
  const known = new Map(live.nodes.map((node) => [node.view.id, node]));
  const first = !live.nodes.length;
  const rates = nodes.map((view) => advance_node(known.get(view.id), view));
  const all = together(rates);
  live = { ...live, nodes: rates, problem, total: all.total, error: "" };
  if (first) return;
  live.points = [...live.points, { at: Date.now() / 1000, ...all.now, p50: all.p50, p99: all.p99 }].slice(-POINTS_MAX);
  const policies: Live["policies"] = new Map();
  for (const [id, { now, total }] of all.policies) {
    const past = [...(live.policies.get(id)?.past ?? []), now.allowed + now.denied].slice(-40);
    policies.set(id, { now, total, past });
  }
  live.policies = policies;
}

// Null: this caller may not see it.
async function if_allowed<T>(answer: Promise<T>): Promise<T | null> {
  return answer.catch((error) => {
    if (error instanceof ApiError && error.status === 403) return null;
    throw error;
  });
}

export async function refresh() {
  let wait = PERIOD_MS;
  try {
    const nodes = await if_allowed(get<NodesView>("/v1/nodes"));
    if (nodes) advance(nodes);
    const text = await text_of("/metrics");
    if (text.length > LARGE_PAGE) wait = 10 * PERIOD_MS;
    live = { ...live, page: read_page(text, Date.now()), error: "" };
    live.readiness = JSON.parse(await text_of("/readyz"));
    live.breaker = await if_allowed(get<Switch>("/v1/switch"));
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

