"""The Lua steps in plain Lua 5.1, outside of Redis."""

import dataclasses
import importlib.machinery
import importlib.util
import pathlib
import subprocess

from vectors import ROOT

HERE = pathlib.Path(__file__).resolve().parent


def load_tool(name):
    """A program of tools/ as a module."""
    loader = importlib.machinery.SourceFileLoader(name, str(ROOT / "tools" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


redis_script = load_tool("redis_script")


def source():
    """The parts of the script that are pure steps, by name."""
    return {path.name: path.read_text(encoding="utf-8") for path in redis_script.parts() if "algorithm" in path.parts}


def program(rows):
    """The rows as lines for run_steps.lua."""
    limit = None
    for row in rows:
        if row.fresh:
            yield "fresh"
        if row.limit is not limit:
            yield "limit " + " ".join(str(n) for n in dataclasses.astuple(row.limit))
            limit = row.limit
        if row.refund_of:
            yield f"refund {row.now_us} " + " ".join(str(n) for n in dataclasses.astuple(row.refund_of))
        else:
            yield f"row {row.now_us} {row.cost} {int(row.count_denied)}"


def differences(rows, parts, tmp_path):
    """Runs the rows; returns "where: expected …, got …" for those that come out differently, at most one per life of a
    counter: the rest would only repeat it."""
    script = tmp_path / "steps.lua"
    script.write_text("\n".join(parts.values()) + (HERE / "run_steps.lua").read_text(encoding="utf-8"), encoding="utf-8")
    run = subprocess.run(["lua5.1", script], input="\n".join(program(rows)), text=True, capture_output=True, timeout=120)
    lines = run.stdout.splitlines()
    found, broken = [], False
    for row, line in zip(rows, lines):
        broken = broken and not row.fresh
        got = tuple(int(float(word)) if word not in ("nan", "-nan", "inf", "-inf") else None for word in line.split())
        expected = (int(row.outcome[0]), *row.outcome[1:], *row.state)
        if got != expected and not broken:
            found.append(f"{row.where}: expected {expected}, got {got}")
            broken = True
    if run.returncode or len(lines) != len(rows):
        found.append(f"Lua stopped after {len(lines)} of {len(rows)} rows: {run.stderr}")
    return found


__all__ = ["ALGORITHMS", "differences", "redis_script", "source"]
