// Why was this denied: the decisions that this node remembers.
import { useState } from "preact/hooks";
import { ApiError, get, query, segment } from "../api";
import { moment, span } from "../format";
import type { Decision } from "../types";
import { Choice, Column, Notice, Rows, Tag, Text, use_action } from "../ui";

const COLUMNS: Column<Decision>[] = [
  { name: "When", cell: ({ at }) => moment(at) },
  { name: "Result", cell: ({ allowed, reason }) => <><Tag kind={allowed ? "good" : "bad"}>{allowed ? "allowed" : "denied"}</Tag> {reason}</> },
  { name: "Key", cell: ({ key, tenant_id }) => <code>{tenant_id ? `${tenant_id} / ` : ""}{key}</code> },
  { name: "Rule", cell: ({ policy_id, policy_version, limit }) => policy_id
    ? <a href={`#/policies/${segment(policy_id)}`}>{policy_id}#{policy_version} · {limit}</a> : "none", class: "wide-only" },
  { name: "Left", cell: ({ remaining, cost }) => `${remaining} (cost ${cost})`, class: "number wide-only" },
  { name: "Room again", cell: ({ allowed, retry_after_ms }) => (allowed ? "" : span(retry_after_ms)), class: "number" },
];

export function Why() {
  const [fields, set_fields] = useState({ tenant_id: "", key: "", policy_id: "", result: "denied" });
  const [found, set_found] = useState<Decision[] | null>(null);
  const [is_absent, set_absent] = useState(false);
  const action = use_action();
  const set = (name: keyof typeof fields) => (value: string) => set_fields({ ...fields, [name]: value });
  const ask = (event: Event) => {
    event.preventDefault();
    void action.run(async () => {
      try {
        set_found((await get<{ decisions: Decision[] }>(`/v1/decisions${query(fields)}`)).decisions);
      } catch (problem) {
        if (!(problem instanceof ApiError) || problem.status !== 404) throw problem;
        set_absent(true);
      }
    });
  };
  return (
    <section class="card">
      <form class="bar" onSubmit={ask}>
        <Text label="Tenant" value={fields.tenant_id} on={set("tenant_id")} />
        <Text label="Key" value={fields.key} on={set("key")} />
        <Text label="Policy" value={fields.policy_id} on={set("policy_id")} />
        <Choice label="Result" value={fields.result} on={set("result")} options={[["denied", "denied"], ["allowed", "allowed"], ["", "any"]]} />
        <button class="primary" disabled={action.busy}>Show</button>
      </form>
      {action.error && <Notice kind="bad">{action.error}</Notice>}
      {is_absent && <Notice kind="info">This node keeps no record of decisions. The <a href="#/tester">request tester</a> tells
        which limit would deny a request now, and the <a href="#/users">users</a> page which numbers hold for whom.</Notice>}
      {found && <Rows label="Decisions" rows={found} columns={COLUMNS} row_key={(row) => `${row.at}${row.key}${row.policy_id}${row.remaining}${row.node}`}
        empty="No such decision is remembered. Denials are kept up to a rate, others as a sample." />}
      {!found && !is_absent && !action.error && <p class="empty">Name a tenant, a key or a policy to see what was decided, and why.</p>}
    </section>
  );
}
