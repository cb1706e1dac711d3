"""The table and the file."""

import json
import os
import platform


def number(value, unit=""):
    if value is None:
        return "–"
    digits = f"{value:.3f}" if value < 10 else f"{value:.1f}"
    return f"{digits.rstrip('0').rstrip('.') if '.' in digits else digits} {unit}".strip()


def table(rows):
    lines = [("what", "ours", "baseline", "value", "target", "ok")]
    for row in rows:
        value = number(row.value, row.value_unit) if row.baseline is not None else "–"
        lines.append((row.name, number(row.ours, row.unit), number(row.baseline, row.unit), value,
                      ("≥ " if row.at_least else "≤ ") + number(row.target, row.value_unit), row.verdict()))
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join(" | ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)


def write_json(path, rows, options):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({
        "machine": {"cores": os.cpu_count(), "kernel": platform.release()},
        "runs": options.runs, "seconds_per_run": options.seconds,
        "rows": [{"what": r.name, "unit": r.unit, "ours": r.ours, "baseline": r.baseline, "value": r.value,
                  "target": r.target, "at_least": r.at_least, "ok": r.verdict(), "values": r.values} for r in rows],
    }, indent=2, ensure_ascii=False) + "\n")
