#!/usr/bin/env python3
"""Audits the servers of scenarios/servers without and with their calls files, and prints what was found as Markdown tables.

usage: tools/audit-servers.py PROGRAM FOLDER

PROGRAM is healbench. The audits are written to FOLDER as JSON. All tools are called, each with a server and a folder of its own, and each call may take
2 s. Several servers are audited at once. Servers are installed by tools/servers.sh; one that is not there is UNPROVEN. Exits 1 if an audit fails.
"""

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SERVERS = Path(__file__).resolve().parent.parent / "scenarios" / "servers"
# The findings that the second table counts by the tools that have them.
FINDINGS = ["accepts-wrong", "soft-error", "hangs", "dies", "no-field", "no-remedy", "ignores-misspelled-optional", "coerces"]


def score(value):
    return "–" if value is None else f"{value:.1f}"


def mean(values):
    values = [value for value in values if value is not None]
    return sum(values) / len(values) if values else None


def texts(audit, is_sdk):
    """Returns the number of scored texts of refusals and their mean score, of an SDK or of the server itself."""
    probes = [probe for tool in audit["tools"] for probe in tool["probes"] if probe["points"] is not None and probe["template"] is not None]
    own = [probe["points"] for probe in probes if (audit["templates"][probe["template"]]["sdk"] is not None) == is_sdk]
    return f"{len(own)}: {score(mean(own))}"


def audited(program, folder, name, command, fixture, kind):
    """Audits a server. Returns the audit, the seconds that it took, and its failure if it failed."""
    file = folder / f"{name}-{kind}.json"
    calls = ["--calls", str(SERVERS / "calls" / f"{name}.yaml")] if kind == "calls" else []
    options = ["--allow-writes", *fixture, *calls, "--output", f"json={file}"]
    start = time.monotonic()
    done = subprocess.run([program, "audit", *options, "--", *command], capture_output=True, text=True)
    seconds = time.monotonic() - start
    failure = f"{name}: exit {done.returncode}: {done.stderr}" if done.returncode != 0 else None
    return json.loads(file.read_text(encoding="utf-8")), seconds, failure


def main():
    program, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    rows, findings, failed = [], [], False
    started = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, server in json.loads((SERVERS / "servers.json").read_text(encoding="utf-8")).items():
            command = [word.replace("{here}", str(SERVERS)) for word in server["command"]]
            if not any(Path(word).exists() for word in command if word.startswith(str(SERVERS))):
                print(f"UNPROVEN: {name} is not installed (tools/servers.sh)")
                continue
            fixture = ["--fixture", str(SERVERS / "fixtures" / server["fixture"])] if "fixture" in server else []
            started[name] = [pool.submit(audited, program, folder, name, command, fixture, kind) for kind in ("schema", "calls")]
    for name, both in started.items():
        audits, seconds, failures = zip(*(one.result() for one in both))
        for failure in filter(None, failures):
            print(failure)
            failed = True
        without, with_calls = audits
        counts, seen = without["counts"], without["server"]
        refused = f"{counts['base_refused']} → {with_calls['counts']['base_refused']}"
        rows.append(
            f"| {name} | {seen['version']} | {counts['audited']} of {counts['tools']} | {refused} | {score(without['score'])} | "
            f"{score(with_calls['score'])} | {texts(with_calls, True)} | {texts(with_calls, False)} | {max(seconds):.1f} |"
        )
        by_id = {id: sum(finding["id"] == id for finding in with_calls["findings"]) for id in FINDINGS}
        findings.append(f"| {name} | " + " | ".join(str(by_id[id]) for id in FINDINGS) + " |")
    print("| server | version | tools | base calls refused | score | with calls | texts of SDKs | own texts | s |")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|")
    print("\n".join(rows))
    print()
    print("| tools with | " + " | ".join(f"`{id}`" for id in FINDINGS) + " |")
    print("|---" + "|--:" * len(FINDINGS) + "|")
    print("\n".join(findings))
    sys.exit(1 if failed else 0)


if len(sys.argv) != 3:
    sys.exit(__doc__)
main()
