// The page /metrics, read: Prometheus text into samples, and two pages into rates.

export interface Sample { name: string; labels: Record<string, string>; value: number }

export function* samples(page: string): Generator<Sample> {
  for (const line of page.split("\n")) {
    const found = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line);
    if (!found) continue;
    const labels: Record<string, string> = {};
    for (const [, name, text] of (found[2] ?? "").matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g))
      labels[name] = text.replace(/\\(.)/g, (_, c) => (c === "n" ? "\n" : c));
    yield { name: found[1], labels, value: found[3] === "+Inf" ? Infinity : Number(found[3]) };
  }
}

export interface Counts { allowed: number; denied: number; degraded: number }
export const nothing = (): Counts => ({ allowed: 0, denied: 0, degraded: 0 });

// What the overview needs of a page.
export interface Page {
  at: number; // milliseconds
  plain: Map<string, number>; // samples without labels
  round_trips: Sample[];
  left_out: Sample[];
}

export function read_page(text: string, at: number): Page {
  const page: Page = { at, plain: new Map(), round_trips: [], left_out: [] };
  for (const sample of samples(text)) {
    if (sample.name.startsWith("rate_limiter_redis_round_trip_seconds")) page.round_trips.push(sample);
    else if (sample.name === "rate_limiter_redis_node_left_out") page.left_out.push(sample);
    else if (!Object.keys(sample.labels).length) page.plain.set(sample.name, sample.value);
  }
  return page;
}

// Counters that fell have begun anew: the server was restarted.
export function rate(before: Counts | undefined, after: Counts, ms: number): Counts {
  const one = (kind: keyof Counts) => {
    const from = before?.[kind] ?? 0;
    return ms > 0 ? Math.max(0, after[kind] - (after[kind] < from ? 0 : from)) * 1000 / ms : 0;
  };
  return { allowed: one("allowed"), denied: one("denied"), degraded: one("degraded") };
}

// A quantile of the checks between two pages, in seconds; NaN without checks, or where the node does not measure.
export function quantile(q: number, before: Map<number, number>, after: Map<number, number>): number {
  const bounds = [...after.keys()].sort((a, b) => a - b);
  const grown = bounds.map((bound) => Math.max(0, after.get(bound)! - (before.get(bound) ?? 0)));
  const all = grown[grown.length - 1] ?? 0;
  if (!all) return NaN;
  const rank = q * all;
  const i = grown.findIndex((count) => count >= rank);
  const low = i ? bounds[i - 1] : 0, below = i ? grown[i - 1] : 0;
  if (bounds[i] === Infinity) return low;
  return low + (bounds[i] - low) * (rank - below) / Math.max(1e-9, grown[i] - below);
}
