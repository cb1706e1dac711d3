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


def main(address, path, fields="{}"):
    service, method = path.split("/")
    pool = descriptors()
    called = pool.FindServiceByName(service).FindMethodByName(method)
    messages = message_factory.MessageFactory(pool)
    request = json_format.ParseDict(json.loads(fields), messages.GetPrototype(called.input_type)())
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
    sys.exit(main(*sys.argv[1:]))
