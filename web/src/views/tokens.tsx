// Who may use the API.
import { useState } from "preact/hooks";
import { call, get, segment } from "../api";
import { moment } from "../format";
import type { Role, Token } from "../types";
import { Choice, Column, Copy, Dialog, Loading, Notice, Rows, Tag, Text, use_action, use_load } from "../ui";

const ROLES: [Role, string][] = [["check", "check: make checks"], ["read", "read: see everything"], ["write", "write: change policies and users"],
  ["operator", "operator: resets, rollouts, the switch"], ["admin", "admin: everything"]];

export function Tokens() {
  const { data, error, again } = use_load(() => get<{ tokens: Token[] }>("/v1/tokens"), []);
  const [name, set_name] = useState("");
  const [role, set_role] = useState<string>("read");
  const [tenants, set_tenants] = useState("");
  const [fresh, set_fresh] = useState<{ name: string; token: string } | null>(null);
  const [doomed, set_doomed] = useState<Token | null>(null);
  const action = use_action();
  const create = (event: Event) => {
    event.preventDefault();
    void action.run(async () => {
      const body: Record<string, unknown> = { name, roles: [role] };
      const list = tenants.split(/[\s,]+/).filter(Boolean);
      if (list.length) body.tenants = list;
      set_fresh((await call<{ name: string; token: string }>("POST", "/v1/tokens", { body, reason: "created on the dashboard" })).body);
      set_name("");
      await again();
    });
  };
  const remove = (token: Token) => () => void action.run(async () => {
    await call("DELETE", `/v1/tokens/${segment(token.name)}`, { reason: "deleted on the dashboard" });
    set_doomed(null);
    await again();
  });
  const columns: Column<Token>[] = [
    { name: "Name", cell: (token) => token.name },
    { name: "Roles", cell: ({ roles }) => roles.map((one) => <Tag key={one}>{one}</Tag>) },
    { name: "Tenants", cell: ({ tenants: list }) => list?.length ? list.join(", ") : "all" },
    { name: "Expires", cell: ({ expires_at }) => moment(expires_at), class: "wide-only" },
    { name: "Action", class: "number", cell: (token) => <button type="button" class="small" onClick={() => set_doomed(token)}>Delete</button> },
  ];
  return (
    <>
      <section class="card">
        <h2>New token</h2>
        <form class="bar" onSubmit={create}>
          <Text label="Name" required value={name} on={set_name} placeholder="shop-ci" />
          <Choice label="Role" value={role} on={set_role} options={ROLES} />
          <Text label="Tenants" value={tenants} on={set_tenants} placeholder="all" hint="shop shop-*" />
          <button class="primary" disabled={action.busy}>Create</button>
        </form>
        {action.error && <Notice kind="bad">{action.error}</Notice>}
        {fresh && <Notice kind="good">The token {fresh.name}, shown this once: <code class="secret">{fresh.token}</code> <Copy text={fresh.token} label="Copy" /></Notice>}
      </section>
      <section class="card">
        <h2>Tokens</h2>
        {data ? <Rows label="Tokens" rows={data.tokens} columns={columns} row_key={(token) => token.name} empty="There is no token yet." /> : <Loading error={error} />}
      </section>
      {doomed && <Dialog title={`Delete the token ${doomed.name}?`} close={() => set_doomed(null)}>
        <p>It opens nothing from then on. Whoever uses it gets a 401.</p>
        {action.error && <Notice kind="bad">{action.error}</Notice>}
        <div class="actions"><button type="button" class="danger" disabled={action.busy} onClick={remove(doomed)}>Delete</button>
          <button type="button" onClick={() => set_doomed(null)}>Cancel</button></div>
      </Dialog>}
    </>
  );
}
