"""docs/interop.md, as a run has found it."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

from wrap_markdown import wrap  # noqa: E402

INTRODUCTION = """# Interop

Sluice has its own implementation of gRPC, so it is tested with the others. `make interop` builds a small client for
each, runs it against a release build of the server, and writes this page. It fails if a cell is not as expected.
[tests/interop](../tests/interop) has the clients, and [cases.py](../tests/interop/cases.py) the expected result of each
case. [CONTRIBUTING](../CONTRIBUTING.md) says what the run needs.
"""


def cell(result):
    right, text = result
    return text if right else f"**wrong**: {text}".replace("|", "/").replace("\n", " ")


def clients_table(versions, results):
    names = list(versions)
    rows = ["| | " + " | ".join(f"{name} {versions[name]}" for name in names) + " |", "|---" * (len(names) + 1) + "|"]
    for what in results[names[0]]:
        rows.append(f"| {what} | " + " | ".join(cell(results[name][what]) for name in names) + " |")
    return "\n".join(rows)


def rows(cases):
    return "".join(f"| {what} | {'yes' if right else '**no**'} |\n" for what, right in cases)


def write(path, versions, results, h2spec, envoy, traces, tests):
    h2spec_version, passed = h2spec
    envoy_version, cases = envoy
    traces_version, spans = traces
    counts = ", ".join(f"{count} of {tests} {how}" for how, count in passed.items())
    text = f"""{INTRODUCTION}
## gRPC clients

What a client sees of each call:

{clients_table(versions, results)}

- A **cancelled** call reaches the server as a reset. In tonic a call is cancelled by dropping it, so there is no
  status.
- **A deadline** reaches the server, which then answers by the policy's failure rule 2 ms before it; a client whose own
  timer is quicker sees `DEADLINE_EXCEEDED`.
- **64 kB of metadata** are more than the 16 KiB that the server announces. Clients that respect this do not send them,
  each with its own status; the others get an error from the server.
- **GOAWAY**: the server gets SIGTERM while eight calls are in flight at any time. A call is either answered and charged,
  or ends as `UNAVAILABLE` (tonic: `CANCELLED`, too, for what it had not sent yet) and is not charged, so it may be sent
  again. The counters, which outlive the server in Redis, must match exactly. "Lost" are calls with another end, or
  charged without an answer.

## HTTP/2

h2spec {h2spec_version}: {counts}.

## Envoy

Envoy {envoy_version} with [the configuration of the examples](../examples/envoy/README.md), some routes added:

| | |
|---|---|
{rows(cases)}
## OpenTelemetry

Spans that Sluice exports, decoded by the Python package opentelemetry-proto {traces_version}:

| | |
|---|---|
{rows(spans)}"""
    path.write_text(wrap(text))
