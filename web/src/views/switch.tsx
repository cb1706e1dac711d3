// The big red switch: everything is allowed until it reverts.
import { useEffect, useState } from "preact/hooks";
import { call } from "../api";
import { moment, span } from "../format";
import { refresh, use_live } from "../live";
import type { Switch } from "../types";
import { Choice, Notice, Text, use_action } from "../ui";

const WORD = "OPEN";

// Milliseconds until `until`, again each second.
export function use_countdown(until: string | null | undefined): number {
  const [now, set_now] = useState(Date.now());
  useEffect(() => {
    if (!until) return;
    const timer = setInterval(() => set_now(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [until]);
  return until ? Math.max(0, new Date(until).getTime() - now) : 0;
}

export function SwitchPage({ may_operate }: { may_operate: boolean }) {
  const { breaker } = use_live();
  const left = use_countdown(breaker?.until);
  const [reason, set_reason] = useState("");
  const [seconds, set_seconds] = useState("3600");
  const [word, set_word] = useState("");
  const action = use_action();
  const turn = (body: Partial<Switch>) => (event: Event) => {
    event.preventDefault();
    void action.run(async () => {
      await call<Switch>("PUT", "/v1/switch", { body });
      await refresh();
      set_word("");
      set_reason("");
    });
  };
  if (!breaker) return <Notice kind="info">The switch is not known yet, or your token may not see it.</Notice>;
  const is_open = breaker.mode === "open";
  return (
    <section class={`card switch ${is_open ? "is-open" : ""}`}>
      <h2>{is_open ? "The switch is open: every check is allowed" : "The switch is closed: limits are enforced"}</h2>
      {is_open ? (
        <>
          <p class="countdown" role="timer" aria-label="Time until it closes">{span(left)}</p>
          <p>until it closes by itself, at {moment(breaker.until)}. Opened by {breaker.actor ?? "somebody"}
            {breaker.reason && <>: “{breaker.reason}”</>}.</p>
          {may_operate && <form onSubmit={turn({ mode: "normal", reason: reason || "closed on the dashboard" })}>
            <div class="actions"><button class="primary" disabled={action.busy}>Close it now</button></div>
          </form>}
        </>
      ) : (
        <>
          <p>While it is open, every check is allowed without the store, and nothing is charged. It is for the moment in which
            limiting itself does the harm. All nodes that share the policy database follow.</p>
          {may_operate ? (
            <form onSubmit={turn({ mode: "open", reason, ttl_seconds: Number(seconds) })}>
              <Text label="Reason" hint="for the audit log, and for everybody who looks here" required value={reason} on={set_reason} />
              <Choice label="It closes by itself after" value={seconds} on={set_seconds}
                options={[["300", "5 minutes"], ["900", "15 minutes"], ["3600", "1 hour"], ["14400", "4 hours"]]} />
              <Text label={`Type ${WORD} to confirm`} required pattern={WORD} value={word} on={set_word} />
              <div class="actions"><button class="danger" disabled={action.busy || word !== WORD || !reason}>Open the switch</button></div>
            </form>
          ) : <Notice kind="info">To open it you need the role operator for all tenants.</Notice>}
        </>
      )}
      {action.error && <Notice kind="bad">{action.error}</Notice>}
    </section>
  );
}
