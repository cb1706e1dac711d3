#!/usr/bin/python3
"""Calls a method of one of Sluice's gRPC services, without generated code.

    examples/grpc/call.py 127.0.0.1:8080 sluice.compat.v1.Allow/Allow '{"key": "u1"}'

Needs protoc, python3-grpcio and python3-protobuf. Prints the answer, or the status; exits with 1 if it is an error.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory, text_format

API = pathlib.Path(__file__).resolve().parents[2] / "api"


def descriptors():
    """All of api/, compiled."""
    pool = descriptor_pool.DescriptorPool()
    with tempfile.NamedTemporaryFile() as compiled:
        subprocess.run(["protoc", "-I", API, "--include_imports", f"--descriptor_set_out={compiled.name}", *API.rglob("*.proto")],
                       check=True)
        for file in descriptor_pb2.FileDescriptorSet.FromString(compiled.read()).file:
            pool.AddSerializedFile(file.SerializeToString())
    return pool


def find_method(pool, path):
    service, _, method = path.partition("/")
    try:
        return pool.FindServiceByName(service).FindMethodByName(method)
    except KeyError:
        raise SystemExit(f"there is no method {path} in the files of {API.name}/; write it as sluice.compat.v1.Allow/Allow")


def read_fields(message, fields):
    try:
        return json_format.ParseDict(json.loads(fields), message)
    except (ValueError, json_format.ParseError) as error:
        raise SystemExit(f"the fields are not a {message.DESCRIPTOR.full_name} in JSON: {' '.join(str(error).split())}")


def main(address, path, fields="{}"):
    try:
        pool = descriptors()
    except FileNotFoundError:
        raise SystemExit("protoc is missing; on Debian it is in the package protobuf-compiler")
    called = find_method(pool, path)
    messages = message_factory.MessageFactory(pool)
    request = read_fields(messages.GetPrototype(called.input_type)(), fields)
    answer = messages.GetPrototype(called.output_type)
    with grpc.insecure_channel(address) as channel:
        call = channel.unary_unary(f"/{path}", request_serializer=bytes, response_deserializer=answer.FromString)
        try:
            print(text_format.MessageToString(call(request.SerializeToString(), timeout=10), as_one_line=True))
        except grpc.RpcError as error:
            print(f"{error.code().name}: {error.details()}")
            return 1
    return 0


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(f"usage: {sys.argv[0]} ADDRESS SERVICE/METHOD [FIELDS AS JSON]")
    sys.exit(main(*sys.argv[1:]))
