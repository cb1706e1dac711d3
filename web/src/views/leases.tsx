// What this node has given away, and until when.
import { useEffect } from "preact/hooks";
import { get, segment } from "../api";
import { moment, short } from "../format";
import type { Lease } from "../types";
import { Column, Loading, Rows, use_load } from "../ui";

const COLUMNS: Column<Lease>[] = [
  { name: "Policy", cell: ({ policy_id }) => policy_id },
  { name: "Tenant", cell: ({ tenant_id }) => tenant_id || "–" },
  { name: "Resource", cell: ({ resource }) => <code>{resource || "–"}</code>, class: "wide-only" },
  { name: "Units", cell: ({ granted }) => short(granted), class: "number" },
  { name: "Expires", cell: ({ expires_unix_ms }) => moment(expires_unix_ms) },
  { name: "Id ends in", cell: ({ lease_id }) => <code>{lease_id}</code>, class: "wide-only" },
];

export function Leases() {
  const { data, error, again } = use_load(() => get<{ leases: Lease[] }>("/v1/leases"), []);
  useEffect(() => {
    const timer = setInterval(() => { if (!document.hidden) void again(); }, 3000);
    return () => clearInterval(timer);
  }, [again]);
  return (
    <section class="card">
      <p>Leases that this node has granted and that have neither expired nor been returned.</p>
      {data ? <Rows label="Leases" rows={data.leases} columns={COLUMNS} row_key={({ lease_id, expires_unix_ms }) => `${lease_id}${expires_unix_ms}`}
        on_row={({ policy_id }) => `#/policies/${segment(policy_id)}`} empty="No lease is out." /> : <Loading error={error} />}
    </section>
  );
}
