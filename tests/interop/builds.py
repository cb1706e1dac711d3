"""The clients: where their sources are, how each is built with its own tools, and how it is started.

A client is built in a copy of its folder below build/interop, where its tools also keep what they download.
"""

import dataclasses
import os
import pathlib
import re
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
API = ROOT / "api"
BUILD = ROOT / "build/interop"
CACHE = BUILD / "cache"
PROTOS = ["sluice/v1/rate_limiter.proto", "grpc/health/v1/health.proto", "grpc/reflection/v1/reflection.proto"]

ENVIRONMENT = {
    **os.environ,
    "API": str(API),
    "GOMODCACHE": str(CACHE / "go"),
    "GOCACHE": str(CACHE / "go-build"),
    "GOFLAGS": "-mod=readonly -modcacherw -buildvcs=false",  # a cache that can be deleted
    "CARGO_HOME": str(CACHE / "cargo"),
    "npm_config_cache": str(CACHE / "npm"),
    "PIP_CACHE_DIR": str(CACHE / "pip"),
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
}


class Failed(Exception):
    """Something that had to work did not; the text says what."""


def run(command, folder, **more_environment):
    """Runs a program to its end and returns what it wrote; what it says on failure is part of the error."""
    command = [str(each) for each in command]
    if not shutil.which(command[0]):
        raise Failed(f"{command[0]} is not installed; CONTRIBUTING.md lists what `make interop` needs")
    done = subprocess.run(command, cwd=folder, env={**ENVIRONMENT, **more_environment}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-4000:]}")
    return done.stdout


def found(pattern, path):
    match = re.search(pattern, path.read_text())
    if not match:
        raise Failed(f"{path} has no {pattern}")
    return match[1]


def fresh_copy(source, name):
    """A copy of a folder of sources below build/interop. What an earlier run has built there stays."""
    folder = BUILD / name
    shutil.copytree(source, folder, dirs_exist_ok=True)
    return folder


def build_go(folder):
    packages = [f"M{proto}=interop/{package}" for proto, package in zip(PROTOS, ["sluice", "health", "reflection"])]
    run(["go", "install", "tool"], folder, GOBIN=str(folder / "bin"))
    for kind in ("go", "go-grpc"):
        run(["protoc", "-I", API, f"--plugin=bin/protoc-gen-{kind}", f"--{kind}_out=.",
             f"--{kind}_opt={','.join(['module=interop', *packages])}", *PROTOS], folder)
    run(["go", "build", "-o", "client", "."], folder)
    return [folder / "client"]


def build_js(folder):
    run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], folder)
    return ["node", folder / "client.js"]


def build_python(folder):
    python = python_with(folder, folder / "requirements.txt")
    # Flat, or there would be two packages named grpc.
    includes = [f"-I{(API / proto).parent}" for proto in PROTOS]
    run([python, "-m", "grpc_tools.protoc", *includes, "--python_out=.", "--grpc_python_out=.",
         *(pathlib.Path(proto).name for proto in PROTOS)], folder)
    return [python, folder / "client.py"]


def python_with(folder, requirements):
    """A Python of its own that has these packages."""
    python = folder / "env/bin/python"
    if not python.exists():
        run(["/usr/bin/python3", "-m", "venv", "env"], folder)
    run([python, "-m", "pip", "install", "-q", "-r", requirements], folder)
    return python


def build_cpp(folder):
    run(["cmake", "-G", "Ninja", "-S", ".", "-B", "out", f"-DAPI={API}", "-DCMAKE_BUILD_TYPE=Release"], folder)
    run(["cmake", "--build", "out"], folder)
    return [folder / "out/client"]


def build_rust(folder):
    run(["cargo", "build", "--locked", "--quiet"], folder)
    return [folder / "target/debug/interop"]


def build_java(folder):
    run(["mvn", "-B", "-q", f"-Dmaven.repo.local={CACHE / 'maven'}", f"-Dapi={API}", "process-classes"], folder)
    return ["java", "-cp", f"{folder / 'target/classes'}:{folder / 'target/lib'}/*", "interop.Client"]


@dataclasses.dataclass
class Client:
    """One client: its name and version in the table, and how it is built. start_with() is the command that runs it."""

    name: str
    source: pathlib.Path
    build: callable
    version: callable
    extra: tuple = ()  # arguments after the address

    def start_with(self):
        command = self.build(fresh_copy(self.source, self.source.name))
        return lambda mode, address, *more: [*map(str, command), mode, address, *self.extra, *more]


def of(name, folder, build, pattern=None, file=None, extra=()):
    source = HERE / "clients" / folder
    version = (lambda: found(pattern, source / file)) if file else (lambda: run(["pkg-config", "--modversion", "grpc++"], ROOT).strip())
    return Client(name, source, build, version, extra)


CLIENTS = [
    of("grpc-go", "go", build_go, r"google\.golang\.org/grpc v(\S+)", "go.mod"),
    of("grpc-js", "js", build_js, r'"@grpc/grpc-js": "([^"]+)"', "package.json", extra=[str(API)]),
    of("grpcio", "python", build_python, r"grpcio==(\S+)", "requirements.txt"),
    of("grpc++", "cpp", build_cpp),
    of("tonic", "rust", build_rust, r'name = "tonic"\nversion = "([^"]+)"', "Cargo.lock"),
    of("grpc-java", "java", build_java, r"<grpc\.version>([^<]+)<", "pom.xml"),
]
