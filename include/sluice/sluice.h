#pragma once

#include <stddef.h>
#include <stdint.h>

#include <sluice/export.h>

/* Rate limits in C, and in any language that can call C: what sluice/limiter.h and sluice/open.h offer to
 * C++.
 *
 *   sluice_memory_options options = {.size = sizeof options, .policies_file = "policies.yaml"};
 *   sluice_limiter *limiter = sluice_open_memory(&options);
 *   if (limiter == NULL) return fail(sluice_error());
 *   if (sluice_allow(limiter, "user_123")) serve();
 *   else send_429();
 *   sluice_free(limiter);
 *
 * A structure begins with its size, which the caller sets: a program that was compiled against an older
 * header runs with a newer library, which adds fields only at the end. Set all other bytes of a structure to
 * 0 first. Texts end with a zero byte and are UTF-8; NULL is the empty text. Every function is thread-safe.
 * No C++ exception leaves a function. After a fork, open a limiter of your own. */

#ifdef __cplusplus
extern "C" {
#endif

/* A limiter; see sluice::Limiter. */
typedef struct sluice_limiter sluice_limiter;

/* "0.1.0": the version of the library that runs. */
SLUICE_EXPORT const char* sluice_version(void);

/* What went wrong in the latest call on this thread that failed. Valid until the next call on this thread. */
SLUICE_EXPORT const char* sluice_error(void);

/* --- opening --- */

/* Counters in this process. */
typedef struct {
  size_t size;               /* sizeof(sluice_memory_options) */
  const char* policies;      /* their text, YAML or JSON … */
  const char* policies_file; /* … or, if that is NULL, a file or directory */
  const char* default_tenant;
  size_t memory_bytes; /* at most, for counters; 0: 256 MiB */
} sluice_memory_options;

/* NULL: sluice_error() says why. */
SLUICE_EXPORT sluice_limiter* sluice_open_memory(const sluice_memory_options* options);

/* Counters in Redis, shared with all processes and Sluice servers that have the same policies, prefix and
 * secret. */
typedef struct {
  size_t size; /* sizeof(sluice_redis_options) */
  const char* policies;
  const char* policies_file;
  const char* default_tenant;
  const char* url;            /* as `sluice serve --store` */
  const char* key_prefix;     /* NULL: the server's default */
  const char* key_secret;     /* NULL: the server's default */
  int64_t connect_timeout_ms; /* how long to wait for the first connection; 0: a second */
  int32_t nodes;              /* that share the limits, for `on_failure: local`; 0: one */
} sluice_redis_options;

SLUICE_EXPORT sluice_limiter* sluice_open_redis(const sluice_redis_options* options);

/* A Sluice server, by gRPC. Keys that are used often are leased, and then decided in this process. */
typedef struct {
  size_t size;                 /* sizeof(sluice_server_options) */
  const char* url;             /* http://host:port or https://host:port */
  const char* token;           /* NULL: none */
  const char* ca_file;         /* for https; NULL: the system's */
  int64_t timeout_ms;          /* of a call; 0: a second */
  int32_t deny_if_unreachable; /* 0: without a server, checks are allowed */
  int32_t no_leases;           /* not 0: every check asks the server */
  int32_t return_unused;       /* not 0: sluice_close() returns units that were not spent */
} sluice_server_options;

SLUICE_EXPORT sluice_limiter* sluice_open_server(const sluice_server_options* options);

/* Ends a limiter: waiting calls are answered with SLUICE_CLOSED, and so are all later ones. May be called
 * again. */
SLUICE_EXPORT void sluice_close(sluice_limiter* limiter);

/* Closes it, if that was not done, and frees it. No call may be in progress or follow, and it must not be
 * called from a callback. NULL is ignored. */
SLUICE_EXPORT void sluice_free(sluice_limiter* limiter);

/* --- checking --- */

/* A further dimension of a request: {"region", "eu"}. */
typedef struct {
  const char* name;
  const char* value;
} sluice_dimension;

/* A cost of this value is that of the policy's cost map, else 1. */
#define SLUICE_COST_OF_POLICY 0

/* A cost of this value charges nothing: the check only looks. */
#define SLUICE_COST_NOTHING (-1)

/* One check. Nothing refers to it after the call. */
typedef struct {
  size_t size;            /* sizeof(sluice_request) */
  const char* key;        /* whom to limit: a user, an address, an API key */
  const char* tenant;     /* NULL: the default tenant */
  const char* resource;   /* for example the path; NULL: none */
  const char* policy_id;  /* NULL: the most specific policy for tenant and resource */
  const char* request_id; /* not NULL: a repeat gets the first answer and charges nothing */
  const sluice_dimension* dimensions;
  size_t dimension_count;
  int64_t cost; /* at least 1, or one of the two above */
} sluice_request;

/* What kept a check from being decided. A denial is not an error. */
typedef enum {
  SLUICE_OK = 0,
  SLUICE_INVALID = 1,     /* the request is wrong; not allowed, and nothing was charged */
  SLUICE_UNAVAILABLE = 2, /* no answer from the store; `allowed` says what the failure rule decided */
  SLUICE_OVERLOADED = 3,  /* too much load; nothing was charged */
  SLUICE_CLOSED = 4       /* the limiter was closed */
} sluice_trouble;

/* The answer to a check. Its texts are valid until sluice_free(). */
typedef struct {
  size_t size; /* sizeof(sluice_answer) */
  int32_t allowed;
  int32_t degraded; /* no limit decided, but the failure rule */
  int32_t leased;   /* decided from units that the server has granted to this process */
  int32_t trouble;  /* a sluice_trouble; if not SLUICE_OK, sluice_error() says more */
  int64_t limit;    /* of the tightest limit; 0: no limit applied, or not known */
  int64_t remaining;
  int64_t retry_after_ms; /* when a denied check will fit; negative: never */
  int64_t reset_after_ms; /* when the tightest limit is unused again */
  const char* reason;     /* "ok", "limited", "no_policy", … */
  const char* policy_version;
  const char* limit_name;
} sluice_answer;

/* 1: a check of this key, with the policy's cost, is allowed; else 0. */
SLUICE_EXPORT int sluice_allow(sluice_limiter* limiter, const char* key);

/* Decides a check, and returns answer->trouble. Blocks while the store is asked; in memory it never does.
 * `answer` may be NULL if only the effect matters. */
SLUICE_EXPORT sluice_trouble sluice_check(sluice_limiter* limiter, const sluice_request* request,
                                          sluice_answer* answer);

/* Receives an answer. Its texts are valid as those of any answer, the structure only during the call. */
typedef void (*sluice_done)(void* context, const sluice_answer* answer);

/* The same without blocking. `done` is called once: in this call if the answer is known at once, otherwise on
 * a thread of the library, where it must not block. */
SLUICE_EXPORT void sluice_check_async(sluice_limiter* limiter, const sluice_request* request,
                                      sluice_done done, void* context);

/* Blocks until the check is allowed. Returns the denial as soon as it is known that there will be no room
 * within the time, and trouble at once. */
SLUICE_EXPORT sluice_trouble sluice_wait(sluice_limiter* limiter, const sluice_request* request,
                                         int64_t timeout_ms, sluice_answer* answer);

/* Forgets the counters that a check of this request would charge, but for those that others share. Returns
 * how many there were; negative: sluice_error() says why. */
SLUICE_EXPORT int sluice_reset(sluice_limiter* limiter, const sluice_request* request);

#ifdef __cplusplus
} /* extern "C" */
#endif
