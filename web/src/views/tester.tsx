// One check, sent from here: it charges like any other.
import { useState } from "preact/hooks";
import { call } from "../api";
import { moment, span } from "../format";
import type { CheckAnswer } from "../types";
import { Copy, Notice, Tag, Text, use_action } from "../ui";

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

export function Tester({ has_checks, needs_token }: { has_checks: boolean; needs_token: boolean }) {
  const [fields, set_fields] = useState({ tenant_id: "", resource: "", key: "", policy_id: "", tokens: "1" });
  const [answer, set_answer] = useState<CheckAnswer | null>(null);
  const action = use_action();
  const set = (name: keyof typeof fields) => (value: string) => set_fields({ ...fields, [name]: value });
  const body: Record<string, unknown> = Object.fromEntries(Object.entries(fields).filter(([name, value]) => value && name !== "tokens"));
  if (fields.tokens) body.tokens = Number(fields.tokens);
  const origin = has_checks ? location.origin : "http://CHECK-HOST:PORT";
  const curl = [`curl -s ${origin}/v1/ratelimit/check`, needs_token ? `-H 'Authorization: Bearer TOKEN'` : "",
    `-d ${quoted(JSON.stringify(body))}`].filter(Boolean).join(" \\\n  ");
  const send = (event: Event) => {
    event.preventDefault();
    void action.run(async () => set_answer((await call<CheckAnswer>("POST", "/v1/ratelimit/check", { body })).body));
  };
  return (
    <div class="columns even">
      <section class="card">
        <h2>Request</h2>
        <form onSubmit={send}>
          <Text label="Tenant" value={fields.tenant_id} on={set("tenant_id")} placeholder="search-service" />
          <Text label="Resource" value={fields.resource} on={set("resource")} placeholder="/search" />
          <Text label="Key" value={fields.key} on={set("key")} placeholder="u1" />
          <Text label="Policy" hint="instead of tenant and resource" value={fields.policy_id} on={set("policy_id")} />
          <Text label="Cost" type="number" min={0} max={1e9} value={fields.tokens} on={set("tokens")} hint="0 only looks" />
          <div class="actions"><button class="primary" disabled={action.busy || !has_checks}>Send the check</button></div>
        </form>
        {!has_checks && <Notice kind="info">Checks are on another port of this node. Copy the command instead.</Notice>}
      </section>
      <section class="card" aria-live="polite">
        <h2>Answer</h2>
        {action.error && <Notice kind="bad">{action.error}</Notice>}
        {answer && !action.error && (
          <>
            <p class="verdict"><Tag kind={answer.allowed ? "good" : "bad"}>{answer.allowed ? "allowed" : "denied"}</Tag> {answer.reason}
              {answer.degraded && <Tag kind="warn">degraded</Tag>}</p>
            <dl class="facts">
              <div><dt>Policy</dt><dd>{answer.policy_id ? <a href={`#/policies/${encodeURIComponent(answer.policy_id)}`}>{answer.policy_id} version {answer.policy_version}</a> : "none matches"}</dd></div>
              <div><dt>Tightest limit</dt><dd>{answer.limiting || "–"}</dd></div>
              <div><dt>Left</dt><dd>{answer.remaining} of {answer.limit}</dd></div>
              {!answer.allowed && <div><dt>Room again in</dt><dd>{span(answer.retry_after_ms)}</dd></div>}
              <div><dt>Full again</dt><dd>{moment(answer.reset_unix_ms)}</dd></div>
            </dl>
          </>
        )}
        {!answer && !action.error && <p class="empty">No check was sent yet.</p>}
        <h2>As a command</h2>
        <pre class="code" tabIndex={0} role="region" aria-label="The request as a command">{curl}</pre>
        <Copy text={curl} label="Copy as curl" />
      </section>
    </div>
  );
}
