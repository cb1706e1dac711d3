// The rollout of a new version: how far it is, and how to stop it.
import { useEffect } from "preact/hooks";
import { ApiError, call, segment } from "../api";
import { moment } from "../format";
import type { Rollout } from "../types";
import { Loading, Notice, Tag, use_action, use_load } from "../ui";

export function RolloutCard({ id, changes, may_write, may_abort, changed }: {
  id: string; changes: number; may_write: boolean; may_abort: boolean; changed: () => void;
}) {
  const { data, error, again } = use_load(() => call<Rollout>("GET", `/v1/policies/${segment(id)}/rollout`), [id, changes]);
  const action = use_action();
  const is_running = data?.body.state === "running";
  useEffect(() => {
    if (!is_running) return;
    const timer = setInterval(() => void again(), 5000);
    return () => clearInterval(timer);
  }, [is_running, again]);
  if (error instanceof ApiError && error.status === 404) return null;
  if (!data) return error ? <Loading error={error} /> : null;
  const rollout = data.body;
  const send = (method: string, path: string) => () => void action.run(async () => {
    await call(method, `/v1/policies/${segment(id)}/rollout${path}`, { headers: { "if-match": data.etag } });
    await again();
    changed();
  });
  return (
    <section class="card">
      <h2>Rollout <Tag kind={is_running ? "warn" : rollout.state === "finished" ? "good" : "bad"}>{rollout.state.replace("_", " ")}</Tag></h2>
      <progress max={100} value={rollout.percent} aria-label="Share of keys that the new version decides for" />
      <p>{is_running
        ? <>Stage {rollout.stage} of {rollout.stages.length}: the new version decides for <b>{rollout.percent} %</b> of the keys, since {moment(rollout.since)}.
            {rollout.next?.at && <> Next: {rollout.next.step} at {moment(rollout.next.at)}.</>}</>
        : <>Ended. {rollout.note}</>}</p>
      {action.error && <Notice kind="bad">{action.error}</Notice>}
      {is_running && (
        <div class="actions">
          {may_write && <button type="button" disabled={action.busy} onClick={send("POST", "/advance")}>Next stage now</button>}
          {may_abort && <button type="button" class="danger" disabled={action.busy} onClick={send("DELETE", "")}>Abort rollout</button>}
        </div>
      )}
    </section>
  );
}
