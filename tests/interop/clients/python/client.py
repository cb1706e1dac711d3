"""A client of Sluice in grpcio. docs/interop.md has the cases; tests/interop/cases.py says what must come of them.

    client.py MODE ADDRESS [CA]
"""

import collections
import json
import pathlib
import queue
import sys
import threading
import time

import grpc
import health_pb2
import health_pb2_grpc
import rate_limiter_pb2 as sluice
import rate_limiter_pb2_grpc
import reflection_pb2
import reflection_pb2_grpc

PATIENCE_S = 120


def report(name, code, text=""):
    print(json.dumps({"case": name, "code": code, "text": text}), flush=True)


def number(error):
    return error.code().value[0]


def error_text(error):
    """The message, and what can be read of its details."""
    details = dict(error.trailing_metadata() or ()).get("grpc-status-details-bin", b"")
    return f"{error.details()} {''.join(chr(byte) if 32 <= byte < 127 else ' ' for byte in details)}"


def outcome(name, call, tell=lambda answer: ""):
    """Reports how a call ended; `tell` makes the text of a good answer."""
    try:
        answer = call()
        report(name, 0, tell(answer))
    except grpc.RpcError as error:
        report(name, number(error), error_text(error))
    except grpc.FutureCancelledError:
        report(name, 1, "")


def verdict(answer):
    return f"{str(answer.allowed).lower()} of {answer.limit}"


def one(key):
    return sluice.CheckRequest(policy_id="p", dimensions={"key": key})


class Client:
    def __init__(self, address, credentials=None, **options):
        arguments = [("grpc.use_local_subchannel_pool", 1)]
        arguments += [(f"grpc.{key}", value) for key, value in options.items()]
        self.channel = (grpc.secure_channel(address, credentials, options=arguments) if credentials
                        else grpc.insecure_channel(address, options=arguments))
        self.limiter = rate_limiter_pb2_grpc.RateLimiterStub(self.channel)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.channel.close()

    def check(self, name, request, **more):
        outcome(name, lambda: self.limiter.CheckAndIncrement(request, **{"timeout": PATIENCE_S, **more}), verdict)

    def batch(self, name, **more):
        request = sluice.CheckBatchRequest(checks=[one(f"{name}-{i}-{'k' * 100}") for i in range(1000)])
        outcome(name, lambda: self.limiter.CheckBatch(request, timeout=PATIENCE_S, **more),
                lambda answer: f"{sum(each.allowed for each in answer.results)} allowed")

    def send(self, name, path, message):
        """One message to a path that may take another."""
        call = self.channel.unary_unary(path, request_serializer=type(message).SerializeToString)
        outcome(name, lambda: call(message, timeout=PATIENCE_S))

    def list(self):
        everything = sluice.ListPoliciesRequest()
        outcome("server stream", lambda: list(self.limiter.ListPolicies(everything, timeout=PATIENCE_S)),
                lambda policies: f"{len(policies)} policies")

    def talk(self):
        requests = queue.SimpleQueue()
        ask = reflection_pb2.ServerReflectionRequest(list_services="")
        stub = reflection_pb2_grpc.ServerReflectionStub(self.channel)

        def answers():
            requests.put(ask)
            count = 0
            for _ in stub.ServerReflectionInfo(iter(requests.get, None), timeout=PATIENCE_S):
                count += 1
                requests.put(ask if count < 3 else None)
            return count
        outcome("both stream", answers, lambda count: f"{count} answers")

    def watch(self, timeout_s):
        stub = health_pb2_grpc.HealthStub(self.channel)
        return stub.Watch(health_pb2.HealthCheckRequest(), timeout=timeout_s)

    def watch_until_cancelled(self):
        stream = self.watch(PATIENCE_S)

        def until_cancelled():
            for _ in stream:
                stream.cancel()
        outcome("cancelled stream", until_cancelled)


def metadata(size):
    return [("x-big", "m" * size), ("x-binary-bin", b"\x00\xff")]


def calls(address):
    with Client(address) as client:
        client.check("unary", one("unary"))
        client.batch("large message")
        client.list()
        client.talk()
        outcome("deadline", lambda: list(client.watch(0.3)))
        client.check("not found", sluice.CheckRequest(policy_id="nobody"))
        client.check("invalid argument", sluice.CheckRequest(policy_id="p", cost=-1))
        client.send("unknown method", "/sluice.v1.RateLimiter/Nothing", one("x"))
        client.send("unknown service", "/nobody.v1.Nothing/At", one("x"))
        # To a server, field 2 is an entry of a map; this one claims more bytes than there are.
        client.send("malformed message", "/sluice.v1.RateLimiter/CheckAndIncrement", sluice.Policy(document="\n\x7f"))
        client.check("too large", sluice.CheckRequest(resource="a" * (2 << 20)))
        client.check("big metadata", one("big"), metadata=metadata(12 << 10))
        client.check("too big metadata", one("big"), metadata=metadata(64 << 10))
        client.check("after it", one("after"))
        client.batch("gzip", compression=grpc.Compression.Gzip)
        client.check("gzip bomb", sluice.CheckRequest(resource="a" * (8 << 20)), compression=grpc.Compression.Gzip)


def slow(address):
    with Client(address) as client:
        client.watch_until_cancelled()
        future = client.limiter.CheckAndIncrement.future(one("cancel"), timeout=PATIENCE_S)
        threading.Timer(0.3, future.cancel).start()
        outcome("cancelled call", future.result, verdict)
        client.check("deadline", one("deadline"), timeout=0.3)
        client.check("after both", one("after"))


def tls(address, ca):
    named = {"ssl_target_name_override": "localhost"}
    with Client(address, grpc.ssl_channel_credentials(pathlib.Path(ca).read_bytes()), **named) as client:
        client.check("tls", one("tls"))
    with Client(address, grpc.ssl_channel_credentials(), **named) as stranger:
        stranger.check("tls, unknown authority", one("tls"))


def drain(address):
    """Keeps eight calls under way until one fails, and tells how each ended."""
    ends = queue.SimpleQueue()
    with Client(address) as client:
        client.check("before the drain", one("load"))

        def work():
            code = 0
            while code == 0:
                try:
                    client.limiter.CheckAndIncrement(one("load"), timeout=PATIENCE_S)
                except grpc.RpcError as error:
                    code = number(error)
                ends.put(code)
        workers = [threading.Thread(target=work) for _ in range(8)]
        for each in workers:
            each.start()
        for each in workers:
            each.join()
    report("drain", 0, json.dumps(collections.Counter(ends.get() for _ in range(ends.qsize()))))


def idle(address):
    with Client(address, keepalive_time_ms=10_000, keepalive_timeout_ms=10_000, keepalive_permit_without_calls=1,
                **{"http2.max_pings_without_data": 0}) as client:
        client.check("before the pings", one("idle"))
        time.sleep(25)
        client.check("after the pings", one("idle"))


{"calls": calls, "slow": slow, "tls": tls, "drain": drain, "idle": idle}[sys.argv[1]](*sys.argv[2:])
