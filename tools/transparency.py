#!/usr/bin/env python3
"""Shows that `healbench proxy` changes nothing but what its log says.

usage: tools/transparency.py PROGRAM [SERVER...]
       tools/transparency.py --record FILE COMMAND...

PROGRAM is healbench. Each client of scenarios/servers/clients plays calls of each server of scenarios/servers, right and wrong ones, through the
proxy: the TypeScript SDK 1.x and 2.x and the Python SDK, which offer roots, sampling and elicitation, and the agent program opencode, if it is on the
path or OPENCODE names it. Both sides of the proxy are recorded, by this program as well: with `--record` it passes the lines between its standard
streams and a command's, and keeps them. Then every line of one side has to be that of the other, byte by byte and in the same order, except:

- calls that the log says were refused, which do not reach the server, and the answers to them;
- answers that the log says were formatted or cut, with the hashes of both lines;
- the proxy's own questions for the tools, and the answers to these.

Servers and clients are installed by tools/servers.sh. What is not there is UNPROVEN. Exits 1 if anything differs.
"""

import base64
import functools
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SERVERS = ROOT / "scenarios" / "servers"
VENV = SERVERS / "venv" / "bin"
OWN_ID = "healbench-proxy-"
# Calls of a tool in a plan.
MOST_CALLS = 6
# The proxy gives a server 30 s to end after its client. Clients wait less.
LOG_TIME = 60

COMMANDS = {
    name: (server.get("fixture"), [word.replace("{here}", str(SERVERS)) for word in server["command"]])
    for name, server in json.loads((SERVERS / "servers.json").read_text(encoding="utf-8")).items()
}
CLIENTS = {
    "typescript-1": ["node", str(SERVERS / "clients" / "typescript-1.mjs")],
    "typescript-2": ["node", str(SERVERS / "clients" / "typescript-2.mjs")],
    "python": [str(VENV / "python"), str(SERVERS / "clients" / "python_sdk.py")],
}
# An agent program is large, so tools/servers.sh does not install it.
OPENCODE = os.environ.get("OPENCODE") or shutil.which("opencode")
if OPENCODE:
    CLIENTS["opencode"] = [sys.executable, str(SERVERS / "clients" / "opencode.py"), OPENCODE]


def record(path, command):
    """Passes lines in both directions, and keeps them."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    lock = threading.Lock()
    with open(path, "w", encoding="ascii") as file:

        def pass_on(direction, source, target):
            for line in iter(source.readline, b""):
                with lock:
                    file.write(json.dumps([direction, base64.b64encode(line).decode()]) + "\n")
                    file.flush()
                try:
                    target.write(line)
                    target.flush()
                except BrokenPipeError:
                    break
            if direction == "to server":
                target.close()

        threading.Thread(target=pass_on, args=("to server", sys.stdin.buffer, process.stdin), daemon=True).start()
        pass_on("to client", process.stdout, sys.stdout.buffer)
        sys.exit(process.wait())


def read_record(path):
    lines = {"to server": [], "to client": []}
    with open(path, encoding="ascii") as file:
        for entry in file:
            direction, line = json.loads(entry)
            lines[direction].append(base64.b64decode(line))
    return lines


def read_log(path):
    """Reads the log of the proxy, which may end after the client; None if it does not end."""
    deadline = time.monotonic() + LOG_TIME
    while time.monotonic() < deadline:
        lines = path.read_text(encoding="utf-8").splitlines()
        if lines and '"what":"end"' in lines[-1]:
            return [json.loads(line) for line in lines]
        time.sleep(0.05)
    return None


def hashed(line):
    return hashlib.sha256(line.rstrip(b"\r\n")).hexdigest()[:16]


def is_own(line):
    return str(json.loads(line).get("id")).startswith(OWN_ID)


def differences(client, server, log):
    """Compares the recordings of both sides, and returns what the log does not explain."""
    found = []
    refused = [entry for entry in log if entry["what"] == "refused"]
    changed = {entry["from"]: entry["answer"] for entry in log if entry["what"] in ("formatted", "cut")}
    refused_calls = {entry["call"] for entry in refused}
    sent = [line for line in client["to server"] if hashed(line) not in refused_calls]
    received = [line for line in server["to server"] if not is_own(line)]
    if sent != received:
        found.append(f"{len(sent)} lines of the client passed, and {len(received)} lines reached the server")
    answers = {entry["answer"] for entry in refused}
    expected = [line for line in server["to client"] if not is_own(line)]
    shown = [line for line in client["to client"] if hashed(line) not in answers]
    if len(expected) != len(shown):
        found.append(f"{len(expected)} lines of the server should have passed, and {len(shown)} reached the client")
    for line, other in zip(expected, shown):
        if line != other and changed.get(hashed(line)) != hashed(other):
            found.append(f"{line[:200]!r} became {other[:200]!r}")
    if len(refused) != len(client["to client"]) - len(shown):
        found.append("the log has another number of refused calls")
    return found


@functools.cache
def planned_calls(program, name):
    """Takes calls from an audit: of each tool the right one and some wrong ones."""
    fixture, command = COMMANDS[name]
    fixtures = ["--fixture", str(SERVERS / "fixtures" / fixture)] if fixture else []
    calls = ["--calls", str(SERVERS / "calls" / f"{name}.yaml")]
    audit = subprocess.run(
        [program, "audit", "--output", "json", *fixtures, *calls, "--", *command],
        capture_output=True,
        check=True,
    )
    planned = []
    for tool in json.loads(audit.stdout)["tools"]:
        if tool["base"] and tool["base"]["state"] in ("accepted", "volatile", "refused"):
            arguments = [tool["base"]["arguments"], *(probe["arguments"] for probe in tool["probes"][-MOST_CALLS:])]
            # The last line of a slow tool may come after its client has ended.
            planned += [{"name": tool["name"], "arguments": each} for each in arguments if "long" not in tool["name"]]
    return planned


def compare(program, name, client):
    """Plays a server's calls with a client. Returns the lines to print, and if nothing differs."""
    fixture, command = COMMANDS[name]
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work).resolve() / "dir"
        if fixture:
            shutil.copytree(SERVERS / "fixtures" / fixture, folder)
        else:
            folder.mkdir()
        text = json.dumps({"dir": str(folder), "calls": planned_calls(program, name)}).replace("{dir}", str(folder))
        command_here = [word.replace("{dir}", str(folder)) for word in command]
        calls = Path(work) / "plan.json"
        calls.write_text(text, encoding="utf-8")
        near, far, log = (str(Path(work) / part) for part in ("client.jsonl", "server.jsonl", "guard.jsonl"))
        recorder = [sys.executable, __file__, "--record"]
        guarded = [*recorder, near, program, "proxy", "--log", log, "--", *recorder, far, *command_here]
        played = subprocess.run([*CLIENTS[client], str(calls), *guarded], capture_output=True, text=True, timeout=120)
        if played.returncode != 0:
            return [f"{name} with {client}: the client failed: {played.stderr[-500:]}"], False
        shown = [json.loads(line) for line in played.stdout.splitlines()]
        entries = read_log(Path(log))
        if entries is None:
            return [f"{name} with {client}: the log has no end after {LOG_TIME} s"], False
        sides = read_record(near), read_record(far)
        found = differences(*sides, entries)
    # The text of the guard is what the client shows, also of a tool with an output schema.
    hidden = [call for call in shown if "does not match" in json.dumps(call)]
    found += [f"the client hides the text of {call}"[:400] for call in hidden]
    counts = entries[-1]["counts"]
    lines = sum(len(side) for side in sides[0].values())
    texts = sum("<validation_error" in call.get("text", "") or "<tool_error" in call.get("text", "") for call in shown)
    summary = (
        f"{name} with {client}: {lines} lines, {counts['calls']} calls, {counts['refused']} refused, "
        f"{counts['formatted']} formatted, {texts} texts of the guard shown, {len(found)} differences"
    )
    if texts != counts["refused"] + counts["formatted"]:
        found.append("the client does not show every text of the guard")
    return [summary, *(f"  {difference}" for difference in found)], not found


def compare_all(program, name):
    """Compares a server with every client. Returns the lines to print, the number of comparisons, and if nothing differs."""
    _, command = COMMANDS[name]
    if not any(Path(word).exists() for word in command if word.startswith(str(SERVERS))):
        return [f"UNPROVEN: {name} is not installed (tools/servers.sh)"], 0, True
    printed, compared, is_same = [], 0, True
    for client, words in CLIENTS.items():
        if not shutil.which(words[0]) or not (SERVERS / "node_modules").exists():
            printed.append(f"UNPROVEN: the client {client} is not installed (tools/servers.sh)")
            continue
        lines, same = compare(program, name, client)
        printed += lines
        compared += 1
        is_same &= same
    return printed, compared, is_same


def main():
    program = str(Path(sys.argv[1]).resolve())
    failed, proven = False, 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for lines, compared, is_same in pool.map(functools.partial(compare_all, program), sys.argv[2:] or COMMANDS):
            print("\n".join(lines), flush=True)
            proven += compared
            failed |= not is_same
    if not OPENCODE:
        print("UNPROVEN: opencode is not on the path, and OPENCODE does not name it")
    if proven == 0:
        print("UNPROVEN: nothing was compared")
    sys.exit(1 if failed else 0)


if len(sys.argv) < 2:
    sys.exit(__doc__)
if sys.argv[1] == "--record":
    record(sys.argv[2], sys.argv[3:])
main()
