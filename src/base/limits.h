#pragma once

#include <cstddef>
#include <cstdint>

// Bounds on input, and on what a caller may make a node hold: those of checks, policies and the protocols.
// The headers in limits/ have those of one subject each; the bounds of one mechanism stand with it. Input
// beyond a bound is refused with an error that names it.
namespace sluice {

// A check.
inline constexpr std::size_t kKeyBytesMax = 256;   // one dimension's value
inline constexpr std::size_t kNameBytesMax = 128;  // policies, limits, dimensions, tenant patterns
inline constexpr std::size_t kResourceBytesMax = 2048;
inline constexpr std::size_t kRequestIdBytesMax = 128;
inline constexpr std::size_t kDimensionsMax = 16;      // in one request
inline constexpr std::size_t kLimitsPerCheckMax = 32;  // of all policies that apply to one request
inline constexpr std::size_t kBatchMax = 1000;
inline constexpr std::size_t kMetricPoliciesMax = 1000;  // label values of one metric; the rest is "other"
inline constexpr std::int64_t kCostMax = 1'000'000'000;

// A policy document.
inline constexpr std::size_t kPolicyFileBytesMax = 32u << 20;
inline constexpr std::size_t kPoliciesMax = 200'000;
inline constexpr std::size_t kLimitsPerPolicyMax = 16;
inline constexpr std::size_t kDimensionsPerLimitMax = 8;
inline constexpr std::size_t kDocumentDepthMax = 16;
inline constexpr std::size_t kAliasedBytesMax = 32u << 20;  // all aliases (*name) of a document, expanded
inline constexpr std::int64_t kRateMax = 1'000'000'000;
inline constexpr std::int64_t kPeriodUsMin = 1'000;                       // 1 ms
inline constexpr std::int64_t kPeriodUsMax = 366LL * 86'400 * 1'000'000;  // a leap year
inline constexpr std::int64_t kSlidingLogMax = 4096;                      // N of a sliding_log limit
inline constexpr int kNodesMax = 10'000;                                  // of --nodes
inline constexpr std::size_t kPatternWildcardsMax = 16;  // {name} and * in one resource pattern
inline constexpr std::size_t kTiersPerPolicyMax = 64;
inline constexpr std::size_t kCostsPerPolicyMax = 1024;
inline constexpr std::int64_t kDeadlineUsMax = 60'000'000;  // 1 min
inline constexpr std::int64_t kIdempotencyTtlUsMax = 7LL * 86'400 * 1'000'000;
inline constexpr std::size_t kPolicyFilesMax = 1000;              // in one directory
inline constexpr std::size_t kPolicyProblemsMax = 20;             // named in one report; the rest is counted
inline constexpr std::size_t kWithdrawnPoliciesMax = 10'000;      // whose versions are remembered
inline constexpr std::size_t kWithdrawnIndexesKept = 10'000;      // see policy/snapshot/policy_indexes.h
inline constexpr std::size_t kDistinctLimitParamsMax = 1u << 22;  // see store/params_table.h

// The control plane.
inline constexpr std::size_t kRecordBodyBytesMax = 1u << 20;  // one version of one document
inline constexpr std::size_t kDraftsPerChangeMax = 10'000;
inline constexpr std::size_t kChangeBytesMax = 64u << 20;  // the bodies of one change together
inline constexpr std::size_t kReasonBytesMax = 1024;
inline constexpr std::size_t kActorBytesMax = 256;
inline constexpr std::size_t kControlJobsMax = 256;  // waiting for the control plane
inline constexpr std::size_t kOverridesPerUserMax = 64;
inline constexpr std::size_t kRolloutStagesMax = 32;
inline constexpr std::int64_t kRolloutHoldUsMin = 1'000'000;
inline constexpr std::int64_t kRolloutHoldUsMax = 90LL * 86'400 * 1'000'000;
inline constexpr std::int64_t kRolloutSamplesMax = 1'000'000'000;  // of `min_samples`
inline constexpr std::int64_t kRolloutSigmasMax = 100;

// Every integer that an algorithm computes stays below this, so that Lua's doubles hold it exactly.
inline constexpr std::int64_t kExactMax = 1LL << 53;

// The wire.
inline constexpr std::size_t kBodyBytesMax = 1u << 20;  // HTTP body, gRPC message after decompression
inline constexpr std::size_t kHeaderBytesMax = 16u << 10;
inline constexpr std::size_t kHeaderBytesReadMax = 64u << 10;  // of an HTTP/2 block; then its stream is reset
inline constexpr std::size_t kHeaderCountMax = 64;
inline constexpr std::size_t kJsonDepthMax = 16;

// A connection. Rates are per second; each answered request earns a well-behaved peer a few more.
inline constexpr std::size_t kUnreadOutputBytesMax = 256u << 10;    // above it, we stop reading the peer
inline constexpr std::size_t kStreamOutputBytesMax = 1u << 20;      // messages of one call, not yet read
inline constexpr std::size_t kConnectionOutputBytesMax = 4u << 20;  // answers of all calls, not yet read
inline constexpr std::size_t kBufferedRequestBytesMax = 16u << 20;  // of all streams of a connection
inline constexpr std::uint32_t kConcurrentStreamsMax = 1000;
inline constexpr std::uint32_t kStreamWindowBytes = 256u << 10;
inline constexpr std::int32_t kConnectionWindowBytes = 16 << 20;
inline constexpr std::uint32_t kResetsPerSecondMax = 200;  // sent by the peer, or caused by it
inline constexpr std::uint32_t kControlFramesPerSecondMax =
    2000;  // PING, SETTINGS, WINDOW_UPDATE, empty DATA, …
inline constexpr std::uint64_t kExpandedBytesPerSecondMax = 4u << 20;  // by gzip, see net/http2/http2_guard.h
inline constexpr std::uint32_t kHeaderContinuationsMax = 8;
inline constexpr std::size_t kDiscardedBodyBytesMax = 4u << 20;  // read from a body that was already refused

// All connections of one loop.
inline constexpr std::size_t kIdleStreamsMax = 256;  // HTTP/2 streams kept for reuse
inline constexpr std::size_t kDeferredAnswersMax = 65'536;

// The address of a store.
inline constexpr std::size_t kStoreUrlBytesMax = 8192;
inline constexpr std::size_t kRedisHostsMax = 64;          // Sentinels, or nodes of a Cluster, in one URL
inline constexpr std::size_t kReplicasMax = 64;            // of one server, that we use
inline constexpr std::size_t kSentinelsMax = 16;           // of one master, including discovered ones
inline constexpr std::size_t kHostBytesMax = 253;          // what DNS allows
inline constexpr std::size_t kUnixPathBytesMax = 107;      // what the kernel allows
inline constexpr std::size_t kTlsFileBytesMax = 4u << 20;  // certificates and keys
inline constexpr int kRedisDatabaseMax = 65'535;
inline constexpr int kRedisConnectionsMax = 10'000;
inline constexpr std::size_t kCellsMax = 64;            // besides `default`
inline constexpr std::size_t kCellPlacesMax = 100'000;  // tenants, prefixes and tiers of one file
inline constexpr std::size_t kTenantMovesMax = 1'000;   // in one change of the cells

// A reply from Redis. The longest is that of a batch on many sliding logs.
inline constexpr std::size_t kRespReplyBytesMax = 64u << 20;
inline constexpr std::size_t kRespValuesMax = 1u << 17;
inline constexpr std::size_t kRespDepthMax = 8;

// A command from a client of our Redis endpoint.
inline constexpr std::size_t kRedisCommandWordsMax = 64;
inline constexpr std::size_t kRedisCommandBytesMax = 64u << 10;
inline constexpr std::size_t kRedisInlineBytesMax = 16u << 10;
inline constexpr std::size_t kRedisRepliesWaitingMax = 1024;  // per connection; then reading stops
// Limits that come with requests: how many distinct ones during the life of the process, and the share that
// one caller may use; see engine/request/given_limits.h.
inline constexpr std::size_t kGivenLimitsMax = 65'536;
inline constexpr std::size_t kGivenLimitsShare = 16;  // a sixteenth

// One call of the Redis script.
inline constexpr std::size_t kRedisBatchChecksMax = 256;
inline constexpr std::size_t kRedisBatchEntriesMax = 1024;
inline constexpr std::size_t kKeyPrefixBytesMax = 64;
inline constexpr std::size_t kKeySecretBytesMin = 16, kKeySecretBytesMax = 1024;  // of --key-secrets
inline constexpr std::int64_t kKeySecretVersionMax = 1'000'000;
inline constexpr std::size_t kRedisQueueMax = 10'000;  // calls that wait for the next script call, at most
inline constexpr std::size_t kRedisQueueMin = 2'048;   // waiting calls that even the slowest server may have
inline constexpr std::uint64_t kRedisQueueWorkMax = 32'768;   // waiting work for the server: about 0.1 s
inline constexpr std::size_t kRedisWorkAtOnceMax = 512;       // work of one script call, or flight: 1.5 ms
inline constexpr std::size_t kRememberedCountersMax = 4'096;  // of denied checks, per loop: 352 KiB

// Counters in transfer between two Redis servers at a time.
inline constexpr std::size_t kTenantMoveBatchMax = 256;

// `sluice plan`.
inline constexpr std::size_t kLogLineBytesMax = 1u << 20;
inline constexpr std::size_t kLogsMax = 256;               // replayed together
inline constexpr std::size_t kLogFieldsAskedMax = 16;      // named on the command line, beyond the usual
inline constexpr std::size_t kBadLinesShownMax = 5;        // the rest is counted
inline constexpr std::size_t kPlanKeysMax = 1'000'000;     // whose peaks are tracked
inline constexpr std::size_t kPlanResourcesMax = 100'000;  // counted individually; the rest together
inline constexpr std::size_t kPlanTopMax = 1000;           // rows of one table
inline constexpr std::size_t kPlanLabelBytesMax = 160;     // of a key or resource in a report

// Redis Cluster.
inline constexpr std::size_t kRedisClusterNodesMax = 1000;  // masters and replicas that we know
inline constexpr std::size_t kRedisFlightSlotsMax = 64;     // script calls sent to one node together
inline constexpr std::size_t kRedisSplitCallsMax = 10'000;  // calls on several slots, or redirected
inline constexpr std::size_t kReplicaLooksMax = 10'000;     // calls that wait for one replica
inline constexpr std::uint32_t kRedisHopsMax = 5;           // redirects for one call

}  // namespace sluice
