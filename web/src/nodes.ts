// What GET /v1/nodes says, twice, as rates: of each node, of all together, and of each policy.
import { Counts, nothing, quantile, rate } from "./metrics";

export interface NodeView {
  name: string; id: string; version: string; started_at: string; seen_at: string; counted_at: string; is_self: boolean;
  ready: boolean; draining: boolean; degraded: boolean; problems: string[];
  policies: ({ policy_id: string } & Counts)[];
  // Only for tokens of all tenants:
  admin?: string; threads?: number; connected?: number; checks?: Counts & { no_policy: number };
  latency?: { bounds_us: number[]; counts: number[]; sum_us: number };
}
export interface NodesView { nodes: NodeView[]; problem: string }

// What is known of one node after two answers.
export interface NodeRates {
  view: NodeView;
  now: Counts; // a second
  policies: Map<string, Counts>;
  p50: number; p99: number; // seconds
  buckets: Map<number, number>; // checks in the last interval, by upper bound, cumulative
}

const counts_of = (view: NodeView): Counts =>
  view.checks ?? view.policies.reduce((sum, one) => add(sum, one), nothing());
export const add = (a: Counts, b: Counts): Counts =>
  ({ allowed: a.allowed + b.allowed, denied: a.denied + b.denied, degraded: a.degraded + b.degraded });

function cumulative(view: NodeView): Map<number, number> {
  const found = new Map<number, number>();
  let sum = 0;
  view.latency?.counts.forEach((count, i) => {
    sum += count;
    found.set(i < view.latency!.bounds_us.length ? view.latency!.bounds_us[i] / 1e6 : Infinity, sum);
  });
  return found;
}

// A node counts about once a second, so rates go by its own clock; the same count twice says nothing new.
export function advance_node(last: NodeRates | undefined, view: NodeView): NodeRates {
  const ms = last ? Date.parse(view.counted_at) - Date.parse(last.view.counted_at) : 0;
  if (last && ms === 0) return { ...last, view };
  const after = cumulative(view);
  if (!last || ms < 0) return { view, now: nothing(), policies: new Map(), p50: NaN, p99: NaN, buckets: new Map() };
  const before = cumulative(last.view);
  const earlier = new Map(last.view.policies.map((one) => [one.policy_id, one]));
  const policies = new Map<string, Counts>();
  for (const one of view.policies) // one that was not among the busiest has no earlier count to compare with
    policies.set(one.policy_id, earlier.has(one.policy_id) || last.view.policies.length < 100
      ? rate(earlier.get(one.policy_id), one, ms) : nothing());
  const buckets = new Map([...after].map(([bound, count]) => [bound, Math.max(0, count - (before.get(bound) ?? 0))]));
  return {
    view, policies, buckets, now: rate(counts_of(last.view), counts_of(view), ms),
    p50: quantile(0.5, before, after), p99: quantile(0.99, before, after),
  };
}

export interface Together {
  now: Counts; total: Counts; p50: number; p99: number;
  policies: Map<string, { now: Counts; total: Counts }>;
}

export function together(nodes: NodeRates[]): Together {
  const all: Together = { now: nothing(), total: nothing(), p50: NaN, p99: NaN, policies: new Map() };
  const buckets = new Map<number, number>();
  for (const node of nodes) {
    all.now = add(all.now, node.now);
    all.total = add(all.total, counts_of(node.view));
    for (const [bound, count] of node.buckets) buckets.set(bound, (buckets.get(bound) ?? 0) + count);
    for (const one of node.view.policies) {
      const sum = all.policies.get(one.policy_id) ?? { now: nothing(), total: nothing() };
      all.policies.set(one.policy_id, {
        now: add(sum.now, node.policies.get(one.policy_id) ?? nothing()), total: add(sum.total, one),
      });
    }
  }
  all.p50 = quantile(0.5, new Map(), buckets);
  all.p99 = quantile(0.99, new Map(), buckets);
  return all;
}
