// Every version of a policy, what it changed, and the way back to it.
import { useState } from "preact/hooks";
import { ApiError, call, get, segment } from "../api";
import { Line, diff } from "../diff";
import { moment, to_yaml } from "../format";
import type { PolicyVersion } from "../types";
import { Dialog, Loading, Notice, Text, use_action, use_load } from "../ui";

const SIGNS = { same: " ", added: "+", removed: "−" };

export function DiffView({ lines, label = "Difference" }: { lines: Line[]; label?: string }) {
  if (lines.every(({ kind }) => kind === "same")) return <p class="empty">No difference.</p>;
  return (
    <pre class="diff" tabIndex={0} role="region" aria-label={label}>
      {lines.map(({ kind, text }, i) => <span class={kind} key={i}>{SIGNS[kind]} {text}{"\n"}</span>)}
    </pre>
  );
}

const text_of = (version: PolicyVersion | undefined) => (version?.document ? to_yaml(version.document) : "");

function RollBack({ version, close, changed }: { version: PolicyVersion; close: () => void; changed: () => void }) {
  const [reason, set_reason] = useState("");
  const action = use_action();
  const go = (event: Event) => {
    event.preventDefault();
    void action.run(async () => {
      await call("POST", `/v1/policies/${segment(version.id)}/rollback`, { body: { version: version.version }, reason });
      close();
      changed();
    });
  };
  return (
    <Dialog title={`Roll back to version ${version.version}?`} close={close}>
      <form onSubmit={go}>
        <p>A new version with the same document comes into force at once.</p>
        <Text label="Reason" hint="for the audit log" required value={reason} on={set_reason} />
        {action.error && <Notice kind="bad">{action.error}</Notice>}
        <div class="actions"><button class="primary" disabled={action.busy}>Roll back</button><button type="button" onClick={close}>Cancel</button></div>
      </form>
    </Dialog>
  );
}

export function Versions({ id, changes, may_write, changed }: { id: string; changes: number; may_write: boolean; changed: () => void }) {
  const { data, error } = use_load(() => get<{ versions: PolicyVersion[] }>(`/v1/policies/${segment(id)}/versions?limit=100`), [id, changes]);
  const [open, set_open] = useState<number | null>(null);
  const [back, set_back] = useState<PolicyVersion | null>(null);
  if (error instanceof ApiError && error.status === 404) return null; // from a file: it has no versions
  return (
    <section class="card">
      <h2>Versions</h2>
      {!data ? <Loading error={error} /> : (
        <ol class="versions">
          {data.versions.map((version, i) => (
            <li key={version.version}>
              <div class="bar">
                <span class="grow"><b>{version.version}</b> · {version.action} by {version.actor} · {moment(version.at)}
                  {version.reason && <> · “{version.reason}”</>}</span>
                <button type="button" class="small" aria-expanded={open === version.version}
                  onClick={() => set_open(open === version.version ? null : version.version)}>Changes</button>
                {may_write && i > 0 && version.document && (
                  <button type="button" class="small" onClick={() => set_back(version)}>Roll back to {version.version}</button>)}
              </div>
              {open === version.version && <DiffView label={`Changes of version ${version.version}`} lines={diff(text_of(data.versions[i + 1]), text_of(version))} />}
            </li>
          ))}
        </ol>
      )}
      {back && <RollBack version={back} close={() => set_back(null)} changed={changed} />}
    </section>
  );
}
