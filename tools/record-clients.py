#!/usr/bin/env python3
"""Records what pinned agent programs show their models of the answers of an MCP server.

usage: tools/record-clients.py PROGRAM [--install] [--check] [--client NAME]... [--case NAME]...

PROGRAM is healbench. For each client of agents/clients and each case of its cases.json, the client runs once, in an empty home and without a
network: the server is `healbench serve --cases`, and the model is tools/model-server.py, which makes the one call of the case. The tool message
of the model's next request goes into agents/clients/fixtures/CLIENT.json, as it was sent but for the masks of that file, with texts of over
2,000 characters as their SHA-256, length, first and last 100 characters. With `--check` nothing is written, and what differs is shown.
`--install` installs the clients by the lock file first. Exits 1 if a client fails or something differs, and 77 if a client is
not there, or cannot be given a network of its own.
"""

import argparse
import concurrent.futures
import ctypes
import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CLIENTS = ROOT / "agents" / "clients"
MODEL = ROOT / "tools" / "model-server.py"
SERVER = "tools"
LONGEST = 2000
PROMPT = "Call the tool."
DEFAULT_CALL = {"tool": "get_invoice", "arguments": {"id": "7"}}


def codex(home, server):
    folder = home / ".codex"
    folder.mkdir()
    command, *arguments = (json.dumps(word) for word in server)
    config = f"""
        model = "scripted"
        model_provider = "scripted"
        approval_policy = "never"
        sandbox_mode = "danger-full-access"
        [model_providers.scripted]
        name = "scripted"
        base_url = "{{model_url}}"
        wire_api = "responses"
        [mcp_servers.{SERVER}]
        command = {command}
        args = [{", ".join(arguments)}]
        default_tools_approval_mode = "approve"
    """
    (folder / "config.toml").write_text("\n".join(line.strip() for line in config.splitlines()), encoding="utf-8")
    return ["codex", "exec", "--skip-git-repo-check", PROMPT], {}, folder / "config.toml"


def opencode(home, server):
    model = {"limit": {"context": 10_000_000, "output": 100_000}}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "{model_url}", "apiKey": "none"}, "models": {"scripted": model}}
    config = {
        "autoupdate": False,
        "share": "disabled",
        "permission": {"*": "allow"},
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "provider": {"scripted": provider},
        "mcp": {SERVER: {"type": "local", "command": server, "enabled": True, "timeout": 60_000}},
    }
    file = home / "opencode.json"
    file.write_text(json.dumps(config), encoding="utf-8")
    switches = {"OPENCODE_CONFIG": str(file), "OPENCODE_DISABLE_MODELS_FETCH": "true", "OPENCODE_DISABLE_AUTOUPDATE": "true"}
    return ["opencode", "run", "--model", "scripted/scripted", PROMPT], switches, file


def qwen_code(home, server):
    folder = home / ".qwen"
    folder.mkdir()
    settings = {
        "mcpServers": {SERVER: {"command": server[0], "args": server[1:], "trust": True}},
        "security": {"auth": {"selectedType": "openai"}},
        # Without it the model is shown the tools of servers, rather than a tool that finds them.
        "tools": {"exclude": ["tool_search"]},
        "telemetry": {"enabled": False},
        "privacy": {"usageStatisticsEnabled": False},
        "model": {"name": "scripted"},
    }
    (folder / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    keys = {"OPENAI_API_KEY": "none", "OPENAI_MODEL": "scripted", "OPENAI_BASE_URL": "{model_url}"}
    return ["qwen", "--yolo", "-p", PROMPT], keys, None


# What differs from run to run, by client: patterns, and what stands for what they match.
ID = r"[0-9A-Za-z]+"
CLIENT_TABLE = {
    "codex-0.169.0": {
        "package": "@openai/codex",
        "prepare": codex,
        "prefix": "mcp__{server}__{tool}",
        "limits": {"bytes": 12000, "tokens": 3000, "bytes_per_token": 4},
        "masks": [
            [r"^fco_[0-9a-f-]{36}$", "fco_0"],
            [r"Wall time: [0-9]+\.[0-9]{4} seconds", "Wall time: 0.0000 seconds"],
        ],
    },
    "opencode-1.18.33": {
        "package": "opencode-ai",
        "prepare": opencode,
        "prefix": "{server}_{tool}",
        "limits": {"bytes": 51200, "lines": 2000},
        "masks": [[rf"saved to: \S+/tool_{ID}", "saved to: ~/.local/share/opencode/tool-output/tool_00000000000000000000000000"]],
    },
    "qwen-code-0.15.10": {
        "package": "@qwen-code/qwen-code",
        "prepare": qwen_code,
        "prefix": "mcp__{server}__{tool}",
        "limits": {"characters": 25000, "lines": 1000},
        "masks": [[r"saved to: \S+/(mcp__\w+)_[0-9a-f]{12}\.output", r"saved to: ~/.qwen/tmp/\1_000000000000.output"]],
    },
}


def program(name):
    """Returns the path of a client; opencode's own launcher needs a script that the installation does not run."""
    modules = CLIENTS / "node_modules"
    native = [modules / package / "bin" / "opencode" for package in ("opencode-linux-x64", "opencode-linux-x64-baseline")]
    candidates = native if name == "opencode" else [modules / ".bin" / name]
    return next((str(path) for path in candidates if path.exists()), None)


def isolate():
    """Gives the child a session of its own, and a network that consists of a loopback device."""
    os.setsid()
    libc = ctypes.CDLL(None, use_errno=True)
    new_user, new_network = 0x10000000, 0x40000000
    if libc.unshare(new_network) != 0 and libc.unshare(new_user | new_network) != 0:
        raise OSError(ctypes.get_errno(), "a network of its own is not allowed here")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as device:
        set_flags, up_running = 0x8914, 0x1 | 0x40
        fcntl.ioctl(device, set_flags, struct.pack("16sh14s", b"lo", up_running, b""))


def end_session(leader):
    """Ends the processes of a session, also those in groups of their own."""
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            if entry.name.isdigit() and int(fields[3]) == leader:
                os.kill(int(entry.name), signal.SIGKILL)
        except (OSError, ValueError, IndexError):
            pass


def shorten(value):
    if isinstance(value, str) and len(value) > LONGEST:
        digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()
        return {"sha256": digest, "characters": len(value), "head": value[:100], "tail": value[-100:]}
    if isinstance(value, list):
        return [shorten(item) for item in value]
    if isinstance(value, dict):
        return {key: shorten(item) for key, item in value.items()}
    return value


def masked(value, masks):
    if isinstance(value, str):
        for pattern, replacement in masks:
            value = re.sub(pattern, replacement, value)
        return value
    if isinstance(value, list):
        return [masked(item, masks) for item in value]
    if isinstance(value, dict):
        return {key: masked(item, masks) for key, item in value.items()}
    return value


def answer(requests):
    """Returns the messages from the first tool message on, of the first request that has one."""
    for entry in requests:
        body = entry["request"] or {}
        for key, is_answer in (
            ("messages", lambda message: message.get("role") == "tool"),
            ("input", lambda message: message.get("type") == "function_call_output"),
        ):
            messages = body.get(key) if isinstance(body.get(key), list) else []
            for index, message in enumerate(messages):
                if is_answer(message):
                    return messages[index:]
    problems = [entry["problem"] for entry in requests if "problem" in entry]
    raise RuntimeError(problems[0] if problems else f"no tool message in {len(requests)} requests")


def record(healbench, client, case_name, case):
    """Runs a client once, and returns the tool message of the model's request."""
    entry = CLIENT_TABLE[client]
    call = case.get("call", DEFAULT_CALL)
    if call["tool"] != case["tool"]["name"]:
        call = {**call, "tool": entry["prefix"].format(server=SERVER, tool=call["tool"]), "exact": True}
    with tempfile.TemporaryDirectory(prefix="client") as folder:
        home = Path(folder) / "home"
        work = Path(folder) / "work"
        home.mkdir()
        work.mkdir()
        script, log = Path(folder) / "script.json", Path(folder) / "log.jsonl"
        script.write_text(json.dumps({"conversations": [{"turns": [call, {"text": "Done."}]}]}), encoding="utf-8")
        server = [healbench, "serve", "--cases", str(CLIENTS / "cases.json"), "--case", case_name]
        words, environment, template = entry["prepare"](home, server)
        words[0] = program(words[0])
        # The address of the model is known when the model is started.
        fill = "import os, sys; url = os.environ['MODEL_URL']; fill = lambda text: text.replace('{' + 'model_url}', url)\n"
        if template:
            fill += f"text = open({str(template)!r}).read(); open({str(template)!r}, 'w').write(fill(text))\n"
        fill += "os.execvpe(sys.argv[1], sys.argv[1:], {name: fill(value) for name, value in os.environ.items()})"
        command = [sys.executable, str(MODEL), str(script), "--log", str(log), "--", sys.executable, "-c", fill, *words]
        variables = {"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(folder), "LANG": "C.UTF-8", **environment}
        process = subprocess.Popen(
            command, cwd=work, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=isolate
        )
        try:
            printed, _ = process.communicate(timeout=180)
        except subprocess.TimeoutExpired:
            printed = b"it ran for 180 s"
        finally:
            end_session(process.pid)
            process.kill()
        lines = log.read_text(encoding="utf-8").split("\n") if log.exists() else []
        try:
            messages = answer([json.loads(line) for line in lines if line])
        except RuntimeError as error:
            raise RuntimeError(f"{client}, {case_name}: {error}\n{printed.decode(errors='replace')[-1500:]}") from error
        return shorten(masked(messages, entry["masks"]))


def head(client):
    entry = CLIENT_TABLE[client]
    lock = json.loads((CLIENTS / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    package = lock[f"node_modules/{entry['package']}"]
    found = {"client": client, "package": entry["package"], "version": package["version"], "integrity": package["integrity"]}
    if client.startswith("opencode"):
        found["binary_integrity"] = lock["node_modules/opencode-linux-x64"]["integrity"]
    if client.startswith("codex"):
        found["binary_integrity"] = lock["node_modules/@openai/codex-linux-x64"]["integrity"]
    return {**found, "server": SERVER, "limits": entry["limits"], "masks": entry["masks"]}


def write(path, fixture):
    """Writes a case a line, so that a difference shows its case."""
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in fixture.items() if key != "cases"]
    cases = [f"    {json.dumps(name)}: {json.dumps(messages)}" for name, messages in fixture["cases"].items()]
    lines.append('  "cases": {\n' + ",\n".join(cases) + "\n  }")
    part = path.with_suffix(".part")
    part.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    part.rename(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("--install", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--client", action="append", choices=list(CLIENT_TABLE))
    parser.add_argument("--case", action="append")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.install:
        # Not `npm ci`: it fails where a registry lacks a package for another platform, which is optional. The lock file holds all the same.
        install = ["npm", "install", "--no-save", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"]
        subprocess.run(install, cwd=CLIENTS, check=True)
    cases = json.loads((CLIENTS / "cases.json").read_text(encoding="utf-8"))["cases"]
    unknown = set(arguments.case or []) - set(cases)
    if unknown:
        sys.exit(f"cases.json has no case {sorted(unknown)[0]}")
    if missing := [name for name in ("codex", "opencode", "qwen") if not program(name)]:
        print(f"UNPROVEN: {missing[0]} is not installed (--install)")
        sys.exit(77)
    try:
        subprocess.run([sys.executable, "-c", ""], preexec_fn=isolate, check=True)
    except (OSError, subprocess.SubprocessError):
        print("UNPROVEN: a network of its own is not allowed to a process here")
        sys.exit(77)
    healbench = shutil.which(arguments.program) or sys.exit(f"{arguments.program} is no program")
    failed = False
    for client in arguments.client or CLIENT_TABLE:
        path = CLIENTS / "fixtures" / f"{client}.json"
        known = json.loads(path.read_text(encoding="utf-8"))["cases"] if path.exists() else {}
        chosen = [name for name in cases if not arguments.case or name in arguments.case]
        recorded = {}
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            jobs = {name: pool.submit(record, str(Path(healbench).resolve()), client, name, cases[name]) for name in chosen}
            for name, job in jobs.items():
                try:
                    recorded[name] = job.result()
                except (RuntimeError, OSError, subprocess.SubprocessError) as error:
                    print(error, file=sys.stderr)
                    failed = True
        if arguments.check:
            different = [name for name in recorded if recorded[name] != known.get(name)]
            for name in different:
                print(f"{client}, {name}: {json.dumps(known.get(name))[:1000]}\n  is now {json.dumps(recorded[name])[:1000]}")
            failed = failed or bool(different)
            print(f"{client}: {len(recorded) - len(different)} of {len(chosen)} cases are as recorded")
            continue
        merged = {**known, **recorded}
        write(path, {**head(client), "cases": {name: merged[name] for name in cases if name in merged}})
        print(f"{client}: {len(recorded)} of {len(chosen)} cases recorded")
    sys.exit(1 if failed else 0)


main()
