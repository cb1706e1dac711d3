"""gRPC clients made from the .proto files under api/, without generated modules.

protoc writes one descriptor set; messages and stubs are built from it in a pool of their own. So a package
named like an installed Python package (grpc.health.v1) is no trouble, and nothing is left in the tree.
"""

import pathlib
import subprocess

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory


class Api:
    """Every message and service of the .proto files below a directory."""

    def __init__(self, proto_root, scratch):
        protos = sorted(str(path.relative_to(proto_root)) for path in pathlib.Path(proto_root).rglob("*.proto"))
        if not protos:
            raise FileNotFoundError(f"no .proto files below {proto_root}")
        output = pathlib.Path(scratch) / "api.pb"
        subprocess.run(["protoc", "-I", str(proto_root), "--include_imports", f"--descriptor_set_out={output}",
                        *protos], check=True)
        files = descriptor_pb2.FileDescriptorSet.FromString(output.read_bytes())
        self._pool = descriptor_pool.DescriptorPool()
        self._factory = message_factory.MessageFactory(self._pool)
        self._services = {}
        for file in files.file:  # protoc writes imports before their users
            self._pool.AddSerializedFile(file.SerializeToString())
            for service in file.service:
                self._services[f"{file.package}.{service.name}"] = service

    def message(self, full_name):
        """The class of a message, such as message("sluice.v1.CheckRequest")(policy_id="a")."""
        return self._factory.GetPrototype(self._pool.FindMessageTypeByName(full_name))

    def enum(self, full_name):
        """The numbers of an enum by name."""
        return {value.name: value.number for value in self._pool.FindEnumTypeByName(full_name).values}

    def stub(self, channel, service_name):
        """A client of a service, such as stub(channel, "sluice.v1.RateLimiter").CheckAndIncrement(policy_id="a")."""
        return Stub(self, channel, service_name, self._services[service_name])


class Stub:
    """One attribute per method. A method takes a message or the message's fields, and grpcio's own keywords
    timeout, metadata and compression; it returns the answer (an iterator if the answer is a stream). A method
    whose requests are a stream takes an iterator of messages. `.with_call` and `.future` are grpcio's."""

    def __init__(self, api, channel, service_name, service):
        for method in service.method:
            request = api.message(method.input_type.lstrip("."))
            answer = api.message(method.output_type.lstrip("."))
            kind = {False: "unary", True: "stream"}
            connect = getattr(channel, f"{kind[method.client_streaming]}_{kind[method.server_streaming]}")
            call = connect(f"/{service_name}/{method.name}", request_serializer=request.SerializeToString,
                           response_deserializer=answer.FromString)
            setattr(self, method.name, _Method(call, request, method.client_streaming))


class _Method:
    def __init__(self, call, request, takes_stream):
        self._call, self._request, self._takes_stream = call, request, takes_stream

    def __call__(self, message=None, **fields):
        return self._invoke(self._call, message, **fields)

    def with_call(self, message=None, **fields):
        """Returns (answer, call); call.initial_metadata() and call.trailing_metadata() hold the headers."""
        return self._invoke(self._call.with_call, message, **fields)

    def future(self, message=None, **fields):
        return self._invoke(self._call.future, message, **fields)

    def _invoke(self, call, message, timeout=30, metadata=None, compression=None, **fields):
        assert message is None or not fields, "give a message or fields, not both"
        assert message is not None or not self._takes_stream, "give an iterator of messages"
        request = self._request(**fields) if message is None else message
        return call(request, timeout=timeout, metadata=metadata, compression=compression)


def open_secure_channel(address, authority, own=None):
    """Over TLS: trusts the certificates.Authority, and shows the certificates.Identity `own`."""
    return grpc.secure_channel(address, grpc.ssl_channel_credentials(
        authority.file.read_bytes(), own and own.key.read_bytes(), own and own.certificate.read_bytes()))


def open_channel(address, **options):
    """A channel to a server in the clear. options: grpcio's channel arguments, with _ for . (grpc_max_…)."""
    arguments = [(name.replace("grpc_", "grpc.", 1), value) for name, value in options.items()]
    return grpc.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1), *arguments])
