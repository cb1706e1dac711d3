#pragma once

#include <cstddef>
#include <cstdint>

// Bounds of what one tenant's admins can make the control plane hold, and of what is kept for a start without
// it. Apart from limits.h, because few need them.
namespace sluice {

inline constexpr std::size_t kPolicyCopyBytesMax = 1u << 30;  // of files, and of the database's documents

// What the API takes of one tenant's policies; files are their owner's affair. Half of what may apply to a
// request is left to policies for any tenant.
inline constexpr std::int64_t kPoliciesPerTenant = 10'000;      // unless --policies-per-tenant says otherwise
inline constexpr std::size_t kLimitsPerTenantMax = 16;          // of its policies, on one request
inline constexpr std::int64_t kTenantWriteKibPerHour = 65'536;  // of documents, by admins of some tenants

inline constexpr std::int64_t kAuditDays = 90;  // unless --audit-days says otherwise
inline constexpr std::int64_t kAuditDaysMax = 36'500;

// An answer of the admin API: a list ends where it would become larger, and tells where it goes on.
inline constexpr std::size_t kPageBytesMax = 4u << 20;
inline constexpr std::size_t kRecordsAtATime = 64;  // that are read for one; each may have a MiB

// Readers of ListPolicies: one admin's, of one loop; and how slow they may be.
inline constexpr std::size_t kPolicyListsPerAdmin = 4;
inline constexpr std::int64_t kPolicyListPatienceUs = 30'000'000;
inline constexpr std::int64_t kPolicyListBytesPerSecond = 64 << 10;

}  // namespace sluice
