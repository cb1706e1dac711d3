// The busiest keys of this node, with a way out for one of them.
import { useEffect, useState } from "preact/hooks";
import { ApiError, call, get, query, segment } from "../api";
import { moment, per_second } from "../format";
import type { HotKey, UserLimit, UserLimits } from "../types";
import { Choice, Column, Dialog, Loading, Notice, Rows, Tag, Text, use_action, use_load } from "../ui";

const HOUR_MS = 3_600_000;
const user_of = ({ dimensions, key }: HotKey) => dimensions.user ?? dimensions.key ?? (Object.keys(dimensions).length ? "" : key);

function Override({ hot, close }: { hot: HotKey; close: (done: string) => void }) {
  const user = user_of(hot);
  const { data, error } = use_load(() =>
    get<UserLimits>(`/api/v1/users/${segment(user)}/limits${query({ policy_id: hot.policy_id })}`), [hot]);
  const known: UserLimit | undefined = data?.limits.find(({ limit_name }) => limit_name === hot.limit);
  const [limit, set_limit] = useState("");
  const [reason, set_reason] = useState("");
  const action = use_action();
  useEffect(() => { if (known) set_limit(String(Math.min(1e9, known.limit * 2))); }, [known]);
  const save = (event: Event) => {
    event.preventDefault();
    void action.run(async () => {
      const expires_at = new Date(Date.now() + HOUR_MS).toISOString().replace(/\.\d+Z$/, "Z");
      await call("POST", `/api/v1/users/${segment(user)}/override`, {
        body: { policy_id: hot.policy_id, limit_name: hot.limit, limit: Number(limit), window_seconds: known!.window_seconds, expires_at },
        reason,
      });
      close(`${user} has ${limit} per ${known!.window_seconds} s of ${hot.policy_id} until ${moment(expires_at)}.`);
    });
  };
  return (
    <Dialog title="Override for 1 h" close={() => close("")}>
      <p>Other numbers of <b>{hot.policy_id}</b>, limit <b>{hot.limit}</b>, for the user <b>{user}</b>. They end by themselves.</p>
      {error && <Notice kind="bad">{error.message}</Notice>}
      {data && !known && <Notice kind="warn">This limit does not count users, so no user can have an override of it.</Notice>}
      {known && (
        <form onSubmit={save}>
          <Text label={`Limit per ${known.window_seconds} s`} hint={`now ${known.rate}, from: ${known.source}`} type="number" min={0}
            max={1e9} required value={limit} on={set_limit} />
          <Text label="Reason" hint="for the audit log" required value={reason} on={set_reason} />
          {action.error && <Notice kind="bad">{action.error}</Notice>}
          <div class="actions">
            <button class="primary" disabled={action.busy}>Override for 1 h</button>
            <button type="button" onClick={() => close("")}>Cancel</button>
          </div>
        </form>
      )}
      {!known && <div class="actions"><button type="button" onClick={() => close("")}>Close</button></div>}
    </Dialog>
  );
}

export function HotKeys({ may_write }: { may_write: boolean }) {
  const [by, set_by] = useState("rate");
  const [chosen, set_chosen] = useState<HotKey | null>(null);
  const [done, set_done] = useState("");
  const { data, error, again } = use_load(() => get<{ hotkeys: HotKey[] }>(`/v1/hotkeys${query({ by, limit: 200 })}`), [by]);
  useEffect(() => {
    const timer = setInterval(() => { if (!document.hidden) void again(); }, 3000);
    return () => clearInterval(timer);
  }, [again]);
  const columns: Column<HotKey>[] = [
    { name: "Key", cell: ({ key }) => <code>{key || "(all)"}</code> },
    { name: "Tenant", cell: ({ tenant_id }) => tenant_id || "–", class: "wide-only" },
    { name: "Policy", cell: ({ policy_id, limit }) => <a href={`#/policies/${segment(policy_id)}`}>{policy_id} · {limit}</a>, class: "wide-only" },
    { name: "Checks", cell: ({ rate }) => per_second(rate), class: "number" },
    { name: "Denied", cell: ({ denied_rate }) => denied_rate ? <Tag kind="bad">{per_second(denied_rate)}</Tag> : per_second(0), class: "number" },
    {
      name: "Action", class: "number", cell: (hot) => may_write && user_of(hot)
        ? <button type="button" class="small" onClick={() => { set_done(""); set_chosen(hot); }}>Override 1 h</button> : "",
    },
  ];
  return (
    <section class="card">
      <div class="bar">
        <Choice label="Order" value={by} on={set_by} options={[["rate", "most checks"], ["denied", "most denials"]]} />
        <p class="grow">The busiest keys of this node in the last seconds.</p>
      </div>
      {done && <Notice kind="good">{done}</Notice>}
      {data ? <Rows label="Hot keys" rows={data.hotkeys} columns={columns} empty="No key stands out: nothing was checked in the last seconds."
        row_key={(hot) => [hot.policy_id, hot.limit, hot.tenant_id, hot.key].join("\n")} /> : <Loading error={error} />}
      {data && error && !(error instanceof ApiError && error.status === 0) && <Notice kind="bad">{error.message}</Notice>}
      {chosen && <Override hot={chosen} close={(text) => { set_chosen(null); set_done(text); }} />}
    </section>
  );
}
