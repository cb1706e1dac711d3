"""The package as a user gets it: installed into an empty prefix, and the examples built against that.

The folders are fixed, below build/library, so that a second run compiles only what has changed.
"""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/blackbox"))

BUILD = ROOT / "build/library"
EXAMPLES = ROOT / "examples/library"


def run(*command, **options):
    """Runs a program to its end, which must be a success; its output as text."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600, **options)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def prefix():
    """The prefix of the installed package."""
    assert (BUILD / "build.ninja").exists(), "run `make test-library`, which builds it"
    folder = BUILD / "prefix"
    shutil.rmtree(folder, ignore_errors=True)
    run("cmake", "--install", BUILD, "--prefix", folder, "--component", "library")
    return folder


@pytest.fixture(scope="session")
def examples(prefix):
    """The folder with the built examples, which find_package() has led to the package."""
    folder = BUILD / "examples"
    launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    run("cmake", "-G", "Ninja", "-S", EXAMPLES, "-B", folder, f"-DCMAKE_PREFIX_PATH={prefix}", *launcher)
    run("cmake", "--build", folder)
    return folder


@pytest.fixture
def pkg_config(prefix):
    """pkg_config("--libs") is the list of flags for the installed package."""
    def ask(*options):
        env = {**os.environ, "PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")}
        return run("pkg-config", *options, "sluice", env=env).split()
    return ask


@pytest.fixture
def redis(tmp_path):
    """A running Redis of its own: a redis_server.Redis."""
    from harness.redis_server import Redis
    one = Redis(tmp_path / "redis")
    try:
        yield one
    finally:
        one.stop()
