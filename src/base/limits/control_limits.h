#pragma once

#include <cstddef>
#include <cstdint>

// Bounds on what the admins of one tenant can make the control plane hold, and on what is kept for a start
// without the database. Separate from limits.h, because few files need them.
namespace sluice {

inline constexpr std::size_t kPolicyCopyBytesMax = 1u << 30;  // of policy files; of ledger documents

// How many policies the API accepts for one tenant; files are up to their owner. Half of the limits that may
// apply to a request are reserved for policies for any tenant.
inline constexpr std::int64_t kPoliciesPerTenant = 10'000;      // unless --policies-per-tenant says otherwise
inline constexpr std::size_t kLimitsPerTenantMax = 16;          // of the tenant's policies, on one request
inline constexpr std::size_t kLogEntriesPerTenantMax = 4096;    // likewise, of their sliding_logs
inline constexpr std::int64_t kTenantWriteKibPerHour = 65'536;  // of documents, by tenant-scoped admins

inline constexpr std::int64_t kAuditDays = 90;  // unless --audit-days says otherwise
inline constexpr std::int64_t kAuditDaysMax = 36'500;

// An answer of the admin API: a list ends before it would exceed this, and says where to continue.
inline constexpr std::size_t kPageBytesMax = 4u << 20;
inline constexpr std::size_t kRecordsAtATime = 64;  // records read at once for an answer; each may have a MiB

// Clients of ListPolicies: how many per admin on one loop, and how slow they may be.
inline constexpr std::size_t kPolicyListsPerAdmin = 4;
inline constexpr std::int64_t kPolicyListPatienceUs = 30'000'000;
inline constexpr std::int64_t kPolicyListBytesPerSecond = 64 << 10;

}  // namespace sluice
