// The document of a policy: checked by the server (a dry run) before it is saved or rolled out.
import { useState } from "preact/hooks";
import { call, segment } from "../api";
import { diff } from "../diff";
import { Notice, Text, use_action } from "../ui";
import { DiffView } from "./policy_versions";

const STAGES = [{ percent: 1, hold: "10m" }, { percent: 10, hold: "10m" }, { percent: 50, hold: "10m" }];

interface Applied { changed: string[]; unchanged: number; warnings?: string[] }
interface Props { id: string; text: string; etag: string; may_write: boolean; saved: (id: string) => void }

const id_in = (text: string) => /^\s*"?id"?\s*:\s*"?([^"\n,}]+?)"?\s*(?:[,}#]|$)/m.exec(text)?.[1] ?? "";
// The document as the only one of a list, as a batch of policies wants it.
const as_batch = (text: string) => text.trimStart().startsWith("{")
  ? `{"policies":[${text}]}` : `policies:\n  -\n${text.split("\n").map((line) => `    ${line}`).join("\n")}\n`;
const document_of = (text: string) => text.endsWith("\n") ? text : `${text}\n`;

export function Editor({ id, text: original, etag, may_write, saved }: Props) {
  const [text, set_text] = useState(original);
  const [reason, set_reason] = useState("");
  const [note, set_note] = useState("");
  const [warnings, set_warnings] = useState<string[]>([]);
  const action = use_action();
  const is_changed = text !== original || !id;

  const validate = async () => {
    const { body } = await call<Applied>("POST", "/v1/policies?dry_run=true", { body: as_batch(text) });
    set_warnings(body.warnings ?? []);
    set_note(body.changed.length ? "Valid. Nothing was saved." : "Valid, and the same as what is in force.");
  };
  const confirmed = async (send: (confirm: string) => Promise<unknown>) => {
    try {
      await send("");
    } catch (problem) {
      const message = (problem as Error).message;
      if (!message.includes("deny-everyone") || !window.confirm(`${message}\n\nSave it all the same?`)) throw problem;
      await send("?confirm=deny-everyone");
    }
  };
  const save = async () => {
    const target = id || id_in(text);
    if (!target) throw new Error("The document has no id.");
    await confirmed((confirm) => call("PUT", `/v1/policies/${segment(target)}${confirm}`,
      { body: document_of(text), reason, headers: etag ? { "if-match": etag } : {} }));
    saved(target);
  };
  const roll_out = async () => {
    const body = `policy:\n${text.split("\n").map((line) => `  ${line}`).join("\n")}\nstages: ${JSON.stringify(STAGES)}\ncompare: true\n`;
    await confirmed((confirm) => call("POST", `/v1/policies/${segment(id)}/rollout${confirm}`, { body, reason }));
    saved(id);
  };
  const run = (what: () => Promise<void>) => () => { set_note(""); set_warnings([]); void action.run(what); };

  return (
    <section class="card">
      <h2>{id ? "Document" : "New policy"}</h2>
      <label class="hidden" for="document">Policy document</label>
      <textarea id="document" class="code" rows={Math.min(26, Math.max(8, text.split("\n").length + 1))} value={text} spellcheck={false}
        readOnly={!may_write} onInput={(event) => set_text(event.currentTarget.value)} />
      {may_write && <>
        {is_changed && id && <DiffView label="Your changes" lines={diff(original, text)} />}
        <Text label="Reason" hint="for the audit log" value={reason} on={set_reason} />
        {action.error && <Notice kind="bad">{action.error}</Notice>}
        {note && <Notice kind="good">{note}</Notice>}
        {warnings.map((warning) => <Notice kind="warn" key={warning}>{warning}</Notice>)}
        <div class="actions">
          <button type="button" disabled={action.busy} onClick={run(validate)}>Validate</button>
          {id && <button type="button" disabled={action.busy || !is_changed} onClick={run(roll_out)}>Roll out in stages</button>}
          <button type="button" class="primary" disabled={action.busy || !is_changed} onClick={run(save)}>Save now</button>
        </div>
      </>}
    </section>
  );
}
