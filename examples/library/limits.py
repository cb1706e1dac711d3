#!/usr/bin/python3
"""Rate limits in Python, through the C interface (sluice/sluice.h) and ctypes.

    limits.py policies.yaml KEY [RESOURCE [TENANT]]     checks five times, and prints what was decided
    SLUICE_REDIS=redis://127.0.0.1 limits.py …          the same with counters in Redis
"""

import ctypes
import os
import sys

lib = ctypes.CDLL(os.environ.get("SLUICE_LIBRARY", "libsluice.so.0"))


class Sized(ctypes.Structure):
    """A structure of the interface: its first field is its size."""

    def __init__(self, **fields):
        super().__init__(ctypes.sizeof(self), **{name: text(value) for name, value in fields.items()})


def text(value):
    return value.encode() if isinstance(value, str) else value


class MemoryOptions(Sized):
    _fields_ = [("size", ctypes.c_size_t), ("policies", ctypes.c_char_p), ("policies_file", ctypes.c_char_p),
                ("default_tenant", ctypes.c_char_p), ("memory_bytes", ctypes.c_size_t)]


class RedisOptions(Sized):
    _fields_ = [("size", ctypes.c_size_t), ("policies", ctypes.c_char_p), ("policies_file", ctypes.c_char_p),
                ("default_tenant", ctypes.c_char_p), ("url", ctypes.c_char_p), ("key_prefix", ctypes.c_char_p),
                ("key_secret", ctypes.c_char_p), ("connect_timeout_ms", ctypes.c_int64), ("nodes", ctypes.c_int32)]


class Request(Sized):
    _fields_ = [("size", ctypes.c_size_t), ("key", ctypes.c_char_p), ("tenant", ctypes.c_char_p),
                ("resource", ctypes.c_char_p), ("policy_id", ctypes.c_char_p), ("request_id", ctypes.c_char_p),
                ("dimensions", ctypes.c_void_p), ("dimension_count", ctypes.c_size_t), ("cost", ctypes.c_int64)]


class Answer(Sized):
    _fields_ = [("size", ctypes.c_size_t), ("allowed", ctypes.c_int32), ("degraded", ctypes.c_int32),
                ("leased", ctypes.c_int32), ("trouble", ctypes.c_int32), ("limit", ctypes.c_int64),
                ("remaining", ctypes.c_int64), ("retry_after_ms", ctypes.c_int64), ("reset_after_ms", ctypes.c_int64),
                ("reason", ctypes.c_char_p), ("policy_version", ctypes.c_char_p), ("limit_name", ctypes.c_char_p)]


Done = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(Answer))

lib.sluice_version.restype = lib.sluice_error.restype = ctypes.c_char_p
lib.sluice_open_memory.argtypes = [ctypes.POINTER(MemoryOptions)]
lib.sluice_open_redis.argtypes = [ctypes.POINTER(RedisOptions)]
lib.sluice_open_memory.restype = lib.sluice_open_redis.restype = ctypes.c_void_p
lib.sluice_check.argtypes = [ctypes.c_void_p, ctypes.POINTER(Request), ctypes.POINTER(Answer)]
lib.sluice_check_async.argtypes = [ctypes.c_void_p, ctypes.POINTER(Request), Done, ctypes.c_void_p]
lib.sluice_wait.argtypes = [ctypes.c_void_p, ctypes.POINTER(Request), ctypes.c_int64, ctypes.POINTER(Answer)]
lib.sluice_reset.argtypes = [ctypes.c_void_p, ctypes.POINTER(Request)]
lib.sluice_free.argtypes = lib.sluice_close.argtypes = [ctypes.c_void_p]


class Limiter:
    """A limiter: `with Limiter.open(policies_file="policies.yaml") as limiter: limiter.check(key="u1").allowed`."""

    def __init__(self, handle):
        if not handle:
            raise ValueError(lib.sluice_error().decode())
        self._handle = handle

    @staticmethod
    def open(**options):
        return Limiter(lib.sluice_open_memory(MemoryOptions(**options)))

    @staticmethod
    def open_redis(**options):
        return Limiter(lib.sluice_open_redis(RedisOptions(**options)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        lib.sluice_free(self._handle)

    def check(self, **request):
        answer = Answer()
        lib.sluice_check(self._handle, Request(**request), answer)
        return answer

    def wait(self, timeout_s, **request):
        answer = Answer()
        lib.sluice_wait(self._handle, Request(**request), int(timeout_s * 1000), answer)
        return answer

    def reset(self, **request):
        return lib.sluice_reset(self._handle, Request(**request))


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    policies, key, resource, tenant = [*sys.argv[1:], None, None][:4]
    redis = os.environ.get("SLUICE_REDIS")
    opened = (Limiter.open_redis(policies_file=policies, url=redis) if redis else Limiter.open(policies_file=policies))
    with opened as limiter:
        for _ in range(5):
            answer = limiter.check(key=key, resource=resource, tenant=tenant)
            if answer.trouble:
                print("trouble:", lib.sluice_error().decode())
            else:
                print("allowed" if answer.allowed else "denied", answer.remaining, "of", answer.limit, "left",
                      f"({answer.policy_version.decode()}, {answer.limit_name.decode()})")


if __name__ == "__main__":
    main()
