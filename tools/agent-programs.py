#!/usr/bin/env python3
"""Plays the quickstart suite with agent programs and a scripted model, twice, and compares the rows.

usage: tools/agent-programs.py PROGRAM [AGENT...]

PROGRAM is healbench. Each agent of agents/programs/healbench.toml [default: opencode codex] plays 10 episodes against tools/model-server.py, whose script
(agents/programs/quickstart.json) makes mistakes and repairs them, leaves one task undone, and makes a call after the goal. What has to hold:

- no episode is lost, and outcomes and calls are those of the script;
- both runs have the same rows, byte by byte: nothing in them is a time;
- no file of the runs has the key, and no process is left.

The programs are those of agents/clients (`npm install --no-save --ignore-scripts` there), or on the path. What is not there is UNPROVEN. Exits 1 if anything differs.
"""

import csv
import io
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUITE = ROOT / "scenarios" / "suites" / "quickstart"
SCENARIOS = ["bad-date", "missing-discriminator", "missing-field", "misspelled-action", "new-required-field"]
CONDITIONS = ["sdk-typescript", "fusion"]
EXECUTABLES = {"opencode": "opencode", "codex": "codex", "qwen-code": "qwen"}
# What the script leads to: calls of an episode, and episodes without success.
CALLS = {"bad-date": 2, "missing-discriminator": 2, "missing-field": 1, "misspelled-action": 2, "new-required-field": 3}
FAILED = {"missing-field"}
# qwen-code answers calls itself that do not fit the schema, so their first calls do not arrive.
UNSENT = {"qwen-code": ["bad-date", "missing-discriminator", "misspelled-action"]}
KEY = "canary-5e0c9d27b4a1f683"
FRAMES = ["calls.parquet", "episodes.parquet", "responses.parquet"]


def search_path():
    """Returns a PATH with the installed programs. opencode's own launcher needs a script that the installation does not run."""
    modules = ROOT / "agents" / "clients" / "node_modules"
    native = [modules / package / "bin" for package in ("opencode-linux-x64", "opencode-linux-x64-baseline")]
    folders = [str(folder) for folder in [*native, modules / ".bin"] if folder.exists()]
    return os.pathsep.join([*folders, os.environ["PATH"]])


def settings(folder, url):
    """Writes the settings with the address of the model."""
    programs = ROOT / "agents" / "programs"
    text = (programs / "healbench.toml").read_text(encoding="utf-8")
    text = text.replace("http://127.0.0.1:8390/v1", url)
    path = folder / "healbench.toml"
    path.write_text(text, encoding="utf-8")
    if not (folder / "homes").exists():
        shutil.copytree(programs / "homes", folder / "homes")
    return path


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def play(program, agent, folder, number):
    """Plays the episodes, and returns the folder of the run."""
    port = free_port()
    run = folder / f"{agent}-{number}"
    command = [
        sys.executable, str(ROOT / "tools" / "model-server.py"), str(ROOT / "agents" / "programs" / "quickstart.json"), "--port", str(port), "--",
        program, "run", *[str(SUITE / f"{name}.yaml") for name in SCENARIOS], "--config", str(settings(folder, f"http://127.0.0.1:{port}/v1")),
        "--agent", f"agent:{agent}", "--condition", ",".join(CONDITIONS), "--trials", "1", "--jobs", "2", "--quiet", "--out", str(run),
    ]
    environment = {**os.environ, "PATH": search_path(), "OPENAI_API_KEY": KEY}
    played = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=900)
    if played.returncode != 0:
        return None, played.stderr[-2000:]
    return run, ""


def rows(program, run):
    """Returns a line for each scenario and condition."""
    text = subprocess.run([program, "report", str(run), "--output=csv", "--by-scenario"], capture_output=True, text=True, check=True).stdout
    return list(csv.DictReader(io.StringIO(text)))


def problems(program, agent, runs):
    found = []
    for name in FRAMES:
        if (runs[0] / name).read_bytes() != (runs[1] / name).read_bytes():
            found.append(f"{name} differs between the runs")
    lines = rows(program, runs[0])
    if len(lines) != len(SCENARIOS) * len(CONDITIONS):
        found.append(f"{len(lines)} rows instead of {len(SCENARIOS) * len(CONDITIONS)}")
    for line in lines:
        name = line["scenario"].split("/")[-1]
        calls = CALLS[name] - (name in UNSENT.get(agent, []))
        expected = (0.0 if name in FAILED else 1.0, float(calls))
        shown = (float(line["success"]), float(line["calls_per_episode"]))
        if shown != expected:
            found.append(f"{name} in {line['condition']}: success and calls are {shown}, not {expected}")
    for run in runs:
        for path in run.rglob("*"):
            if path.is_file() and KEY.encode() in path.read_bytes():
                found.append(f"{path.name} has the key")
    for entry in Path("/proc").glob("[0-9]*/environ"):
        try:
            if KEY.encode() in entry.read_bytes():
                found.append(f"the process {entry.parent.name} is left: {(entry.parent / 'cmdline').read_bytes()!r}")
        except OSError:
            pass
    return found


def main():
    program = shutil.which(sys.argv[1]) or sys.exit(f"{sys.argv[1]} is no program")
    program = str(Path(program).resolve())
    failed = False
    for agent in sys.argv[2:] or ["opencode", "codex"]:
        if not shutil.which(EXECUTABLES[agent], path=search_path()):
            print(f"UNPROVEN: {agent} is not installed")
            continue
        with tempfile.TemporaryDirectory() as folder:
            runs = []
            for number in (1, 2):
                run, error = play(program, agent, Path(folder), number)
                if run is None:
                    print(f"{agent}: the run failed: {error}")
                    failed = True
                    break
                runs.append(run)
            if len(runs) < 2:
                continue
            found = problems(program, agent, runs)
            plan = json.loads((runs[0] / "manifest.json").read_text(encoding="utf-8"))["plan"]
            version = plan["agents"][0]["settings"]["version"]
            print(f"{agent} {version}: 10 episodes twice, {len(found)} problems")
            for problem in found:
                print(f"  {problem}")
            failed |= bool(found)
    sys.exit(1 if failed else 0)


if len(sys.argv) < 2:
    sys.exit(__doc__)
main()
