// What the API answers; docs/openapi.yaml has the whole of it.

export type Role = "check" | "read" | "write" | "operator" | "admin";
export interface Session { name: string; roles: Role[]; tenants: string[]; has_checks: boolean }
export interface Readiness { ready: boolean; draining: boolean; degraded: boolean; problems: string[] }
export interface Switch {
  mode: "open" | "normal"; reason: string; ttl_seconds: number;
  until: string | null; actor: string | null; at: string | null;
}
export interface LimitDocument { name?: string; per?: string[]; rate: string; burst?: number; algorithm?: string }
export interface PolicyDocument {
  id: string; tenant?: string; resource?: string; owner?: string; shadow?: boolean; limits: LimitDocument[];
}
export interface Policy {
  id: string; version: number; source: string; document: PolicyDocument; warnings?: string[];
}
export interface PolicyVersion {
  id: string; version: number; action: string; actor: string; reason?: string; at: string;
  document: PolicyDocument | null;
}
export interface Rollout {
  policy_id: string; version: number; state: "running" | "finished" | "aborted" | "rolled_back"; note?: string;
  base_version: number; stage: number; percent: number; stages: { percent: number; hold: string }[];
  since: string; next: { step: string; at?: string; percent?: number } | null;
}
export interface HotKey {
  policy_id: string; limit: string; key: string; rate: number; denied_rate: number; leased: boolean;
  tenant_id: string; dimensions: Record<string, string>;
}
export interface CheckAnswer {
  allowed: boolean; remaining: number; retry_after_ms: number; limit: number; reset_unix_ms: number;
  policy_id: string; policy_version: number; limiting: string; state: string; reason: string;
  degraded: boolean; replayed: boolean;
}
export interface UserLimit {
  policy_id: string; limit_name: string; tenant_id: string; resource: string; limit: number; window_seconds: number;
  rate: string; burst: number; algorithm: string; source: string; expires_at?: string; applies: boolean | null;
}
export interface UserLimits { user_id: string; tier: string | null; limits: UserLimit[]; next: string | null }
export interface Token { name: string; roles: Role[]; tenants: string[]; expires_at: string | null }
export interface AuditEntry {
  revision: number; at: string; actor: string; action: string; kind: string; name: string; reason?: string;
  before: unknown; after: unknown;
}
export interface Lease {
  lease_id: string; tenant_id: string; policy_id: string; policy_version: string; resource: string;
  granted: number; expires_unix_ms: number;
}
export interface Decision {
  at: string | number; tenant_id: string; key: string; policy_id: string; policy_version: number | string;
  limit: string; allowed: boolean; reason: string; cost: number; remaining: number; retry_after_ms: number;
  node: string;
}
