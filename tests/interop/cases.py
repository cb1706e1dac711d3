"""What must come of each case, whichever client it is: the one place that says so."""

import dataclasses
import re

CODES = ["OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
         "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
         "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"]

DROPPED = "dropped"  # where a call is cancelled by forgetting it, and has no status then
LIMIT = 1_000_000
POLICY_COUNT = 1001
POLICIES = f"""
policies:
  - id: p
    limits: [{{ name: many, per: [key], rate: {LIMIT}/d, algorithm: fixed_window }}]
    deadline: 60s
""" + "".join(f"""
  - id: p{i}
    tenant: t{i}
    limits: [{{ name: one, per: [user], rate: 1/s }}]
""" for i in range(1, POLICY_COUNT))


@dataclasses.dataclass
class Case:
    """In `mode`, the client's line `name` must have one of these codes, and a text that matches."""

    mode: str
    name: str
    what: str  # for the reader of the table
    codes: tuple = ("OK",)
    text: str = ""

    def shown(self, line):
        """(is it right?, what to write into the table)"""
        code = CODES[line["code"]] if 0 <= line["code"] < len(CODES) else str(line["code"])
        if "CANCELLED" in self.codes and line["text"] == DROPPED:
            return True, DROPPED
        right = code in self.codes and re.search(self.text, line["text"] or "")
        return bool(right), code if right else f"{code}: {line['text']}"


ALLOWED = f"true of {LIMIT}"
GONE = ("UNAVAILABLE",)
CASES = [
    Case("calls", "unary", "a check", text=ALLOWED),
    Case("calls", "large message", "a batch of 1,000 checks, 140 kB", text="1000 allowed"),
    Case("calls", "server stream", f"`ListPolicies`: {POLICY_COUNT:,} messages", text=f"{POLICY_COUNT} policies"),
    Case("calls", "both stream", "reflection: three questions and answers on one stream", text="3 answers"),
    Case("calls", "deadline", "`Health/Watch` with a deadline of 300 ms", ("DEADLINE_EXCEEDED",)),
    Case("slow", "cancelled stream", "`Health/Watch`, cancelled after the first message", ("CANCELLED",)),
    Case("slow", "cancelled call", "a check cancelled after 300 ms, while Redis is silent", ("CANCELLED",)),
    # The failure rule answers 2 ms before the deadline; some clients' own timers are quicker than that.
    Case("slow", "deadline", "a check with a deadline of 300 ms while Redis is silent", ("OK", "DEADLINE_EXCEEDED"),
         "true of -1|[Dd]eadline|[Tt]imeout"),
    Case("slow", "after both", "the next check on that connection, once Redis answers", text=ALLOWED),
    Case("calls", "big metadata", "12 kB of metadata, binary ones too", text=ALLOWED),
    # Most clients know the server's SETTINGS_MAX_HEADER_LIST_SIZE and refuse to send it, each with a code of its own.
    Case("calls", "too big metadata", "64 kB of metadata", ("RESOURCE_EXHAUSTED", "INTERNAL", "UNKNOWN", "UNAVAILABLE")),
    Case("calls", "after it", "the next check after that", text=ALLOWED),
    Case("calls", "not found", "a policy that is not there", ("NOT_FOUND",), "policy_id"),
    Case("calls", "invalid argument", "a negative cost; its details name the field", ("INVALID_ARGUMENT",),
         r"google\.rpc\.ErrorInfo.*google\.rpc\.BadRequest.*cost"),
    Case("calls", "unknown method", "a method that is not there", ("UNIMPLEMENTED",), "sluice.v1.RateLimiter/Nothing"),
    Case("calls", "unknown service", "a service that is not there", ("UNIMPLEMENTED",), "nobody.v1.Nothing/At"),
    Case("calls", "malformed message", "bytes that are not the message", ("INTERNAL",)),
    Case("calls", "too large", "a message of 2 MB", ("RESOURCE_EXHAUSTED",), "larger than this server accepts"),
    Case("calls", "gzip", "the batch, compressed", text="1000 allowed"),
    # That the message speaks of decompression proves that the client has compressed it.
    Case("calls", "gzip bomb", "8 MB that are small when compressed", ("RESOURCE_EXHAUSTED",), "decompressed"),
    Case("idle", "after the pings", "25 idle seconds with a keep-alive ping every 10, then a check", text=ALLOWED),
    Case("tls", "tls", "a check over TLS, ALPN `h2`", text=ALLOWED),
    Case("tls", "tls, unknown authority", "over TLS, by a client that does not know the authority", GONE),
]
# How a call ends that may be sent again. tonic's transport also has "operation was canceled" for what it had not sent
# when the connection closed; nobody cancels anything there.
RETRYABLE = {"tonic": ("UNAVAILABLE", "CANCELLED")}
DRAIN = "GOAWAY under load, eight calls at a time: answered / to be sent again / lost"
