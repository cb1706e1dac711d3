// Who changed what, when and why.
import { useEffect, useState } from "preact/hooks";
import { get, query } from "../api";
import { diff } from "../diff";
import { moment, to_yaml } from "../format";
import type { AuditEntry } from "../types";
import { Choice, Column, Dialog, Notice, Rows, Tag, use_action } from "../ui";
import { DiffView } from "./policy_versions";

const KINDS = ["policy", "user", "token", "rollout", "switch", "event", "retention"];
const text_of = (state: unknown) => (state ? to_yaml(state) : "");

export function Audit() {
  const [kind, set_kind] = useState("");
  const [entries, set_entries] = useState<AuditEntry[]>([]);
  const [next, set_next] = useState<number | null>(null);
  const [open, set_open] = useState<AuditEntry | null>(null);
  const { run, error, busy } = use_action();
  const load = (below?: number) => run(async () => {
    const page = await get<{ entries: AuditEntry[]; next: number | null }>(`/v1/audit${query({ kind, below, limit: 200 })}`);
    set_entries((before) => (below ? [...before, ...page.entries] : page.entries));
    set_next(page.next);
  });
  useEffect(() => void load(), [kind]);
  const columns: Column<AuditEntry>[] = [
    { name: "When", cell: ({ at }) => moment(at) },
    { name: "Who", cell: ({ actor }) => actor, class: "wide-only" },
    { name: "What", cell: ({ action, kind: sort, name }) => <><Tag>{sort}</Tag> {action} {name}</> },
    { name: "Why", cell: ({ reason }) => reason ?? "", class: "wide-only long" },
    { name: "Change", class: "number", cell: (entry) => <button type="button" class="small" onClick={() => set_open(entry)}>Show</button> },
  ];
  return (
    <section class="card">
      <div class="bar"><Choice label="Kind" value={kind} on={set_kind} options={[["", "all"], ...KINDS.map((one): [string, string] => [one, one])]} /></div>
      {error && <Notice kind="bad">{error}</Notice>}
      <Rows label="Audit log" rows={entries} columns={columns} row_key={({ revision }) => String(revision)} empty={busy ? "Loading…" : "Nothing was changed yet."} />
      {next !== null && <div class="actions"><button type="button" disabled={busy} onClick={() => void load(next)}>Older</button></div>}
      {open && <Dialog title={`${open.action} ${open.name}`} close={() => set_open(null)}>
        <p>{open.actor}, {moment(open.at)}{open.reason && <>: “{open.reason}”</>}</p>
        <DiffView lines={diff(text_of(open.before), text_of(open.after))} />
        <div class="actions"><button type="button" onClick={() => set_open(null)}>Close</button></div>
      </Dialog>}
    </section>
  );
}
