// All policies, searchable; and one of them: its document, versions and rollout.
import { useEffect, useState } from "preact/hooks";
import { call, get, query, segment } from "../api";
import { to_yaml } from "../format";
import type { Policy, Rollout } from "../types";
import { Column, Loading, Notice, Rows, Tag, Text, use_load } from "../ui";
import { Editor } from "./policy_editor";
import { RolloutCard } from "./policy_rollout";
import { Versions } from "./policy_versions";

const PAGE = 1000;

// What the list shows of a policy. The documents of 100,000 policies would not fit into a small tab.
interface PolicyRow { id: string; version: number; source: string; tenant?: string; resource?: string; owner?: string; limits: string; is_shadow: boolean; has_warnings: boolean }
const row_of = ({ id, version, source, document: { tenant, resource, owner, limits, shadow }, warnings }: Policy): PolicyRow => ({
  id, version, source, tenant, resource, owner, is_shadow: !!shadow, has_warnings: !!warnings,
  limits: (limits ?? []).map(({ rate, per }) => `${rate}${per?.length ? ` per ${per.join(", ")}` : ""}`).join(" · "),
});

// Page by page, so that the first rows are there at once.
function use_policies() {
  const [policies, set_policies] = useState<PolicyRow[]>([]);
  const [error, set_error] = useState<Error | null>(null);
  const [is_complete, set_complete] = useState(false);
  useEffect(() => {
    let is_wanted = true;
    void (async () => {
      let after: string | null = "";
      const all: PolicyRow[] = [];
      try {
        while (after !== null && is_wanted) {
          const page: { policies: Policy[]; next: string | null } = await get(`/v1/policies${query({ limit: PAGE, after })}`);
          all.push(...page.policies.map(row_of));
          after = page.next;
          if (is_wanted) set_policies([...all]);
        }
        if (is_wanted) set_complete(true);
      } catch (problem) {
        if (is_wanted) set_error(problem as Error);
      }
    })();
    return () => { is_wanted = false; };
  }, []);
  return { policies, error, is_complete };
}

export function Policies({ may_write }: { may_write: boolean }) {
  const { policies, error, is_complete } = use_policies();
  const rollouts = use_load(() => get<{ rollouts: Rollout[] }>("/v1/rollouts?state=running&limit=1000"), []);
  const [filter, set_filter] = useState("");
  const running = new Map(rollouts.data?.rollouts.map((rollout) => [rollout.policy_id, rollout]));
  const word = filter.toLowerCase();
  const shown = word ? policies.filter(({ id, tenant, resource, owner }) =>
    [id, tenant, resource, owner].some((text) => text?.toLowerCase().includes(word))) : policies;
  const columns: Column<PolicyRow>[] = [
    { name: "Policy", cell: ({ id }) => id },
    { name: "Tenant", cell: ({ tenant }) => tenant ?? "any", class: "wide-only" },
    { name: "Resource", cell: ({ resource }) => <code>{resource ?? "any"}</code>, class: "wide-only" },
    { name: "Limits", cell: ({ limits }) => limits, class: "long" },
    { name: "State", cell: (policy) => (
      <>
        {running.has(policy.id) && <Tag kind="warn">rollout {running.get(policy.id)!.percent} %</Tag>}
        {policy.is_shadow && <Tag>shadow</Tag>}
        {policy.has_warnings && <Tag kind="warn">warning</Tag>}
      </>
    ), class: "wide-only" },
    { name: "Version", cell: ({ version }) => version, class: "number" },
    { name: "Source", cell: ({ source }) => source, class: "wide-only" },
  ];
  return (
    <section class="card">
      <div class="bar">
        <Text label="Search" type="search" placeholder="id, tenant, resource or owner" value={filter} on={set_filter} />
        <p class="grow" role="status">{shown.length} of {policies.length}{is_complete || error ? "" : " so far…"}</p>
        {may_write && <a class="button primary" href="#/policies/+new">New policy</a>}
      </div>
      {error && <Notice kind="bad">{error.message}</Notice>}
      <Rows label="Policies" rows={shown} columns={columns} row_key={({ id }) => id} on_row={({ id }) => `#/policies/${segment(id)}`}
        empty={is_complete ? "No policy matches." : "Loading…"} />
    </section>
  );
}

const TEMPLATE = "id: my.policy\nresource: /my/resource\nlimits:\n  - { name: burst, per: [tenant, user], rate: 100/s, burst: 20 }\nowner: my-team";

export function PolicyPage({ id, may_write, may_operate }: { id: string; may_write: boolean; may_operate: boolean }) {
  const is_new = id === "+new";
  const policy = use_load(() => is_new ? Promise.resolve(null) : call<Policy>("GET", `/v1/policies/${segment(id)}`), [id]);
  const [changes, set_changes] = useState(0);
  const again = () => { set_changes((count) => count + 1); void policy.again(); };
  if (is_new) return <Editor id="" text={TEMPLATE} etag={'"0"'} may_write={may_write} saved={(saved) => { location.hash = `#/policies/${segment(saved)}`; }} />;
  const known = policy.data?.body;
  const is_file = known ? known.source !== "api" : false;
  return (
    <>
      <p class="crumbs"><a href="#/policies">Policies</a> / <b>{id}</b> {known && <Tag>version {known.version}</Tag>} {known && <Tag>{known.source}</Tag>}</p>
      {policy.error && <Loading error={policy.error} />}
      {known?.warnings?.map((warning) => <Notice kind="warn" key={warning}>{warning}</Notice>)}
      {known && is_file && <Notice kind="info">This policy comes from a file. Change the file; the API does not.</Notice>}
      {known && <Editor key={known.version} id={id} text={to_yaml(known.document)} etag={policy.data!.etag}
        may_write={may_write && !is_file} saved={again} />}
      {known && !is_file && <RolloutCard id={id} changes={changes} may_write={may_write} may_abort={may_operate || may_write} changed={again} />}
      {known && !is_file && <Versions id={id} changes={changes} may_write={may_write} changed={again} />}
    </>
  );
}
