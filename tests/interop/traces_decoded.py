"""Decodes export requests, one per line of stdin in hexadecimal, with OpenTelemetry's own package."""

import importlib.metadata
import json
import sys

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


def value(any_value):
    return getattr(any_value, any_value.WhichOneof("value"))


def has_unknown(message):
    """Whether the bytes hold a field that the package does not know: then a copy without those is shorter."""
    copy = type(message).FromString(message.SerializeToString())
    copy.DiscardUnknownFields()
    return copy.ByteSize() != message.ByteSize()


requests = [ExportTraceServiceRequest.FromString(bytes.fromhex(line)) for line in sys.stdin.read().split()]
resources = [resource for request in requests for resource in request.resource_spans]
spans = [span for resource in resources for scope in resource.scope_spans for span in scope.spans]
json.dump({
    "version": importlib.metadata.version("opentelemetry-proto"),
    "unknown": any(has_unknown(request) for request in requests),
    "service": {pair.key: value(pair.value) for pair in resources[0].resource.attributes}["service.name"],
    "spans": [{
        "trace": span.trace_id.hex(), "parent": span.parent_span_id.hex(), "kind": span.kind, "flags": span.flags,
        "begin": span.start_time_unix_nano, "end": span.end_time_unix_nano,
        "about": {pair.key: value(pair.value) for pair in span.attributes}} for span in spans],
}, sys.stdout)
