// What is limited now, by all nodes together: rates, latency, the nodes, and the busiest policies.
import { latency, per_second, percent, short, span } from "../format";
import { Live, use_live } from "../live";
import type { NodeRates } from "../nodes";
import { Plot, Spark } from "../plot";
import { Column, Notice, Rows, Tag } from "../ui";

const Tile = ({ name, value, note, kind }: { name: string; value: string; note: string; kind: string }) => (
  <div class={`tile ${kind}`}><h2>{name}</h2><strong>{value}</strong><small>{note}</small></div>
);

function Health({ live }: { live: Live }) {
  const { readiness, page } = live;
  const plain = (name: string) => page?.plain.get(name);
  const loops = plain("rate_limiter_redis_loops");
  const connected = plain("rate_limiter_redis_connected_loops") ?? 0;
  const database = plain("rate_limiter_policy_database_up");
  const is_degraded = plain("rate_limiter_store_degraded") === 1 || readiness?.degraded;
  const rows: [string, string, string][] = [
    ["Node", readiness?.draining ? "draining" : readiness?.ready ? "ready" : "not ready", readiness?.ready ? "good" : "bad"],
    ["Store", is_degraded ? "slow or silent: failure rules decide" : loops === undefined ? "memory" : "answers",
      is_degraded ? "bad" : "good"],
  ];
  if (loops !== undefined)
    rows.push(["Connections", `${connected} of ${loops} threads`, connected === loops ? "good" : "bad"]);
  for (const { labels, value } of page?.round_trips ?? [])
    rows.push([`Redis ${labels.node ?? ""}`, `answers in ${latency(value)}`, "good"]);
  for (const { labels, value } of page?.left_out ?? [])
    if (value) rows.push([`Redis ${labels.node ?? ""}`, "left out: its clock is wrong", "bad"]);
  if (database !== undefined)
    rows.push(["Policy database", database ? "reachable" : "unreachable: policies as last read", database ? "good" : "bad"]);
  const keys = plain("rate_limiter_store_keys");
  if (keys !== undefined) rows.push(["Counters in memory", short(keys), ""]);
  return (
    <section class="card">
      <h2>Health of this node</h2>
      <dl class="facts">{rows.map(([name, value, kind]) => (
        <div key={name}><dt>{name}</dt><dd>{kind ? <Tag kind={kind}>{value}</Tag> : value}</dd></div>
      ))}</dl>
      {readiness?.problems.map((problem) => <Notice kind="warn" key={problem}>{problem}</Notice>)}
      {live.problem && <Notice kind="warn">{live.problem}</Notice>}
    </section>
  );
}

const state_of = ({ view }: NodeRates): [string, string] =>
  view.draining ? ["draining", "warn"] : !view.ready ? ["not ready", "bad"] : view.degraded ? ["store is slow or silent", "bad"] : ["ready", "good"];
const SILENT_MS = 4000;

// `now`: by the clock of the node that serves the page.
const node_columns = (now: number): Column<NodeRates>[] => [
  { name: "Node", cell: ({ view }) => <>{view.name} {view.is_self && <Tag>this page</Tag>}</> },
  { name: "State", cell: (node) => now - Date.parse(node.view.seen_at) > SILENT_MS ? <Tag kind="warn">silent</Tag> : <Tag kind={state_of(node)[1]}>{state_of(node)[0]}</Tag> },
  { name: "Allowed", cell: (node) => per_second(node.now.allowed), class: "number" },
  { name: "Denied", cell: (node) => node.now.denied ? <Tag kind="bad">{per_second(node.now.denied)}</Tag> : per_second(0), class: "number" },
  { name: "Latency p99", cell: ({ p99 }) => latency(p99), class: "number wide-only" },
  { name: "Up", cell: ({ view }) => span(Math.max(0, now - Date.parse(view.started_at))), class: "number wide-only" },
  { name: "Version", cell: ({ view }) => view.version, class: "number wide-only" },
];

// All nodes that share counters with this one.
function Nodes({ nodes }: { nodes: NodeRates[] }) {
  const troubles = nodes.filter(({ view }) => !view.is_self && view.problems.length);
  return (
    <section class="card">
      <h2>Nodes</h2>
      <Rows label="Nodes" rows={nodes} columns={node_columns(Date.parse(nodes[0].view.seen_at))} row_key={({ view }) => view.id} empty="Loading…" />
      {troubles.map(({ view }) => <Notice kind="warn" key={view.id}><b>{view.name}</b>: {view.problems.join("; ")}</Notice>)}
    </section>
  );
}

type Row = { id: string; allowed: number; denied: number; degraded: number; all: number; past: number[] };

export function Overview() {
  const live = use_live();
  const { points, policies, page, nodes, total: all } = live;
  const now = points[points.length - 1];
  const times = points.map(({ at }) => at);
  const rows: Row[] = [...policies].filter(([id]) => id).map(([id, { now: { allowed, denied, degraded }, total, past }]) =>
    ({ id, allowed, denied, degraded, all: total.allowed + total.denied, past }));
  rows.sort((a, b) => (b.allowed + b.denied) - (a.allowed + a.denied) || b.all - a.all || a.id.localeCompare(b.id));
  const columns: Column<Row>[] = [
    { name: "Policy", cell: ({ id }) => id },
    { name: "Last minutes", cell: ({ past }) => <Spark values={past} />, class: "wide-only" },
    { name: "Allowed", cell: ({ allowed }) => per_second(allowed), class: "number" },
    { name: "Denied", cell: ({ denied }) => denied ? <Tag kind="bad">{per_second(denied)}</Tag> : per_second(0), class: "number" },
    { name: "Degraded", cell: ({ degraded }) => degraded ? <Tag kind="warn">{per_second(degraded)}</Tag> : per_second(0), class: "number wide-only" },
    { name: "Denied share", cell: ({ allowed, denied }) => percent(denied, allowed + denied), class: "number" },
  ];
  const is_measured = nodes.some(({ view }) => view.latency);
  const trips = (page?.round_trips ?? []).map(({ value }) => value);
  return (
    <>
      <div class="tiles">
        <Tile kind="good" name="Allowed" value={now ? per_second(now.allowed) : "–"} note={all ? `${short(all.allowed)} since the start` : ""} />
        <Tile kind="bad" name="Denied" value={now ? per_second(now.denied) : "–"}
          note={now ? `${percent(now.denied, now.allowed + now.denied)} of checks` : ""} />
        <Tile kind="warn" name="Degraded" value={now ? per_second(now.degraded) : "–"} note="decided without the store" />
        {is_measured
          ? <Tile kind="" name="Latency p99" value={latency(now?.p99 ?? NaN)} note={`p50 ${latency(now?.p50 ?? NaN)}`} />
          : <Tile kind="" name="Store latency" value={trips.length ? latency(Math.max(...trips)) : "in process"}
              note={trips.length ? "fastest answer of the slowest node" : "memory, no round trip"} />}
      </div>
      <div class="columns">
        <section class="card">
          <h2>Checks a second</h2>
          <Plot title="Checks a second" times={times} format={short} series={[
            { label: "allowed", color: "--good", values: points.map(({ allowed }) => allowed) },
            { label: "denied", color: "--bad", values: points.map(({ denied }) => denied) },
            { label: "degraded", color: "--warn", values: points.map(({ degraded }) => degraded) },
          ]} />
          {is_measured && <>
            <h2>Latency</h2>
            <Plot title="Latency" height={160} times={times} format={latency} series={[
              { label: "p50", color: "--accent", values: points.map(({ p50 }) => (isFinite(p50) ? p50 : null)) },
              { label: "p99", color: "--warn", values: points.map(({ p99 }) => (isFinite(p99) ? p99 : null)) },
            ]} />
          </>}
        </section>
        <Health live={live} />
      </div>
      {nodes.length > 0 && <Nodes nodes={nodes} />}
      <section class="card">
        <h2>Policies with traffic</h2>
        <Rows label="Policies with traffic" rows={rows} columns={columns} row_key={({ id }) => id}
          on_row={({ id }) => `#/policies/${encodeURIComponent(id)}`}
          empty="No policy that you may see has decided anything yet." />
      </section>
    </>
  );
}
