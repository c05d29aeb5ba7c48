#!/usr/bin/env python3
"""Shows that clients of the official SDKs see what `healbench serve` is meant to send.

usage: tools/serve-clients.py PROGRAM

PROGRAM is healbench. The clients of scenarios/servers/clients, on the TypeScript SDK 1.x and 2.x and the Python SDK, list the tools, and make right and wrong calls:

- of a simulated scenario under several conditions: each shows the text and `isError` that `healbench call` prints for the same calls;
- of an MCP server, by itself and through `serve`: each shows the same, structured content and failures included;
- of both as an agent program of a run, through `serve --attach`: the same again, and each call is a row.

Servers and clients are installed by tools/servers.sh. What is not there is UNPROVEN. Exits 1 if anything differs.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SERVERS = ROOT / "scenarios" / "servers"
CLIENTS = {
    "typescript-1": ["node", str(SERVERS / "clients" / "typescript-1.mjs")],
    "typescript-2": ["node", str(SERVERS / "clients" / "typescript-2.mjs")],
    "python": [str(SERVERS / "venv" / "bin" / "python"), str(SERVERS / "clients" / "python_sdk.py")],
}
CONDITIONS = ["bare", "sdk-typescript", "sdk-python", "fusion"]
SIMULATED = ROOT / "scenarios" / "suites" / "quickstart" / "unknown-id.yaml"
SIMULATED_CALLS = [
    {"name": "tickets", "arguments": {"action": "update", "id": "TCK-2207", "status": "done"}},
    {"name": "tickets", "arguments": {"action": "update", "id": "TCK-9999", "status": "resolved"}},
    {"name": "no_such_tool", "arguments": {}},
    {"name": "tickets", "arguments": {"action": "list", "requester": "Nadia Rahman"}},
    {"name": "tickets", "arguments": {"action": "update", "id": "TCK-2207", "status": "resolved"}},
]
ON_SERVER = SERVERS / "suite" / "weather-in-a-city.yaml"
SERVER = [str(SERVERS / "node_modules" / ".bin" / "mcp-server-everything")]
SERVER_CALLS = [
    {"name": "get-structured-content", "arguments": {"location": "Paris"}},
    {"name": "get-structured-content", "arguments": {"location": "Chicago"}},
]


def play(client, plan, command):
    """Returns what a client shows of each call."""
    played = subprocess.run([*CLIENTS[client], str(plan), *command], capture_output=True, text=True, timeout=120)
    if played.returncode != 0:
        sys.exit(f"{client} failed on {command}: {played.stderr[-1000:]}")
    return [json.loads(line) for line in played.stdout.splitlines()]


def agent(client, plan, output, config, _prompt):
    """Is an agent program: plays the plan on the server of the configuration, and keeps what the client shows."""
    server = json.loads(config)
    shown = play(client, plan, [server["command"], *server["args"]])
    Path(output).write_text(json.dumps(shown), encoding="utf-8")


def expected_of_call(program, condition):
    """Returns what clients have to show of the simulated scenario, by `healbench call`."""
    lines = "".join(json.dumps({"tool": call["name"], "arguments": call["arguments"]}) + "\n" for call in SIMULATED_CALLS)
    command = [program, "call", "--scenario", str(SIMULATED), "--condition", condition, "--output", "json"]
    results = subprocess.run(command, input=lines, capture_output=True, text=True).stdout.splitlines()
    return [
        {**call, "isError": result["isError"], "text": "\n\n".join(block["text"] for block in result["content"])}
        for call, result in zip(SIMULATED_CALLS, map(json.loads, results), strict=True)
    ]


def run_with(program, client, plan, scenario, condition, folder):
    """Returns what a client shows as the agent program of a run, and the number of rows."""
    output, settings, run = folder / "shown.json", folder / "healbench.toml", folder / "run"
    shutil.rmtree(run, ignore_errors=True)
    words = [sys.executable, str(Path(__file__).resolve()), "--agent", client, str(plan), str(output), "{mcp_config}", "{prompt}"]
    settings.write_text(f"[agent.client]\ncommand = {json.dumps(words)}\n", encoding="utf-8")
    command = [program, "run", str(scenario), "--config", str(settings), "--agent", "agent:client", "--condition", condition]
    played = subprocess.run([*command, "--trials", "1", "--quiet", "--out", str(run)], capture_output=True, text=True)
    if played.returncode != 0 or not output.exists():
        sys.exit(f"{client} as an agent failed: {played.stderr[-1000:]}")
    shown = json.loads(output.read_text(encoding="utf-8"))
    output.unlink()
    report = subprocess.run([program, "report", str(run), "--output=csv"], capture_output=True, text=True, check=True).stdout
    columns, values = (line.split(",") for line in report.splitlines())
    return shown, float(values[columns.index("calls_per_episode")])


def try_client(program, client, plans, expected, folder):
    """Compares what a client shows with what it has to. Returns the lines to print, and if there is a failure."""
    printed, failed = [], False

    def compare(what, shown, expected):
        nonlocal failed
        differences = sum(one != other for one, other in zip(shown, expected)) + abs(len(shown) - len(expected))
        printed.append(f"{what}: {len(shown)} calls, {sum(call.get('isError', True) for call in shown)} failed, {differences} differences")
        for one, other in zip(shown, expected):
            if one != other:
                printed.append(f"  {json.dumps(one)[:600]}\n  is not {json.dumps(other)[:600]}")
        failed |= differences > 0 or not shown

    folder.mkdir()
    serve = [program, "serve", "--quiet"]
    for condition in CONDITIONS:
        shown = play(client, plans["simulated"], [*serve, str(SIMULATED), "--condition", condition])
        compare(f"{client}, {condition}", shown, expected[condition])
    shown, rows = run_with(program, client, plans["simulated"], SIMULATED, "fusion", folder)
    compare(f"{client} as an agent, fusion, {rows:.0f} rows", shown, expected["fusion"])
    failed |= rows != len(shown)
    if not os.path.exists(SERVER[0]):
        printed.append("UNPROVEN: the MCP server is not installed (tools/servers.sh)")
        return printed, failed
    direct = play(client, plans["server"], SERVER)
    if not any(call.get("structured") for call in direct):
        printed.append(f"{client} shows no structured content of the server: {direct}")
        failed = True
    shown = play(client, plans["server"], [*serve, str(ON_SERVER), "--condition", "as-is"])
    compare(f"{client}, an MCP server", shown, direct)
    shown, rows = run_with(program, client, plans["server"], ON_SERVER, "as-is", folder)
    compare(f"{client} as an agent, an MCP server, {rows:.0f} rows", shown, direct)
    failed |= rows != len(shown)
    return printed, failed


def main():
    program = str(Path(shutil.which(sys.argv[1]) or sys.exit(f"{sys.argv[1]} is no program")).resolve())
    failed, tried = False, []
    with tempfile.TemporaryDirectory() as work, ThreadPoolExecutor(os.cpu_count()) as pool:
        folder = Path(work)
        plans = {}
        for name, calls in (("simulated", SIMULATED_CALLS), ("server", SERVER_CALLS)):
            plans[name] = folder / f"{name}.json"
            plans[name].write_text(json.dumps({"dir": work, "calls": calls}), encoding="utf-8")
        expected = {condition: expected_of_call(program, condition) for condition in CONDITIONS}
        for client, words in CLIENTS.items():
            if not shutil.which(words[0]) or not (SERVERS / "node_modules").exists():
                print(f"UNPROVEN: the client {client} is not installed (tools/servers.sh)")
                continue
            tried.append(pool.submit(try_client, program, client, plans, expected, folder / client))
        for one in tried:
            lines, has_failed = one.result()
            print("\n".join(lines), flush=True)
            failed |= has_failed
    if not tried:
        print("UNPROVEN: nothing was compared")
    sys.exit(1 if failed else 0)


if len(sys.argv) < 2:
    sys.exit(__doc__)
if sys.argv[1] == "--agent":
    agent(*sys.argv[2:])
else:
    main()
