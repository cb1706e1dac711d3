// One user: their tier, and every limit that counts them, with overrides.
import { useState } from "preact/hooks";
import { call, get, segment } from "../api";
import { moment } from "../format";
import type { UserLimit, UserLimits } from "../types";
import { Column, Loading, Notice, Rows, Tag, Text, use_action, use_load } from "../ui";

function Tier({ user, tier, changed }: { user: string; tier: string; changed: () => void }) {
  const [value, set_value] = useState(tier);
  const action = use_action();
  const save = (event: Event) => {
    event.preventDefault();
    void action.run(async () => {
      await call("PUT", `/api/v1/users/${segment(user)}/tier`, { body: { tier: value }, reason: "set on the dashboard" });
      changed();
    });
  };
  return (
    <form class="bar" onSubmit={save}>
      <Text label="Tier" value={value} on={set_value} placeholder="none" />
      <button disabled={action.busy || value === tier}>Set tier</button>
      {action.error && <Notice kind="bad">{action.error}</Notice>}
    </form>
  );
}

function Found({ user, may_write }: { user: string; may_write: boolean }) {
  const { data, error, again } = use_load(() => get<UserLimits>(`/api/v1/users/${segment(user)}/limits?limit=1000`), [user]);
  const action = use_action();
  const remove = (limit: UserLimit) => () => void action.run(async () => {
    await call("DELETE", `/api/v1/users/${segment(user)}/override/${segment(limit.policy_id)}?limit_name=${segment(limit.limit_name)}`,
      { reason: "ended on the dashboard" });
    await again();
  });
  const columns: Column<UserLimit>[] = [
    { name: "Limit", cell: ({ policy_id, limit_name }) => `${policy_id} · ${limit_name}` },
    { name: "Rate", cell: ({ rate, burst }) => `${rate}, at once ${burst}` },
    { name: "Source", cell: ({ source, expires_at }) => <><Tag kind={source === "override" ? "warn" : ""}>{source}</Tag>{expires_at && ` until ${moment(expires_at)}`}</> },
    { name: "Applies", cell: ({ applies }) => (applies === null ? "depends" : applies ? "yes" : "no"), class: "wide-only" },
    { name: "Action", class: "number", cell: (limit) => may_write && limit.source === "override"
      ? <button type="button" class="small" disabled={action.busy} onClick={remove(limit)}>End override</button> : "" },
  ];
  if (!data) return <Loading error={error} />;
  return (
    <>
      {may_write && <Tier key={`${user}\n${data.tier}`} user={user} tier={data.tier ?? ""} changed={again} />}
      {action.error && <Notice kind="bad">{action.error}</Notice>}
      <Rows label={`Limits of ${user}`} rows={data.limits} columns={columns} row_key={({ policy_id, limit_name }) => `${policy_id}\n${limit_name}`}
        on_row={({ policy_id }) => `#/policies/${segment(policy_id)}`} empty="No policy counts users." />
    </>
  );
}

export function Users({ user, may_write }: { user: string; may_write: boolean }) {
  const [name, set_name] = useState(user);
  return (
    <section class="card">
      <form class="bar" onSubmit={(event) => { event.preventDefault(); location.hash = `#/users/${segment(name)}`; }}>
        <Text label="User" hint="the dimension user, or the key of a check" required value={name} on={set_name} />
        <button class="primary">Show</button>
      </form>
      {user ? <Found user={user} may_write={may_write} /> : <p class="empty">Enter a user to see which limits hold for them, and why.</p>}
    </section>
  );
}
