#!/usr/bin/env python3
"""Records what servers on pinned SDKs list, and what they answer to calls.

usage: tools/record-servers.py [NAME...] [--newest]

NAME is a file of harness/engine/tests/fixtures/servers/today without its ending, such as typescript-2; without one, all are recorded. Each
server gets a folder of its own with the packages of the table. With `--newest` nothing is recorded: for each package,
the version that was recorded and the newest one published are printed. Exits 1 if a server fails or a package is not the newest.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TODAY = Path(__file__).resolve().parent.parent / "harness" / "engine" / "tests" / "fixtures" / "servers" / "today"

# The script that records a file, and the packages it needs. Those of python-lowlevel come after python, whose list it reads.
SERVERS = {
    "typescript-1": ("typescript-1.mjs", {"@modelcontextprotocol/sdk": "1.32.2", "zod": "4.6.7"}),
    "typescript-2": (
        "typescript-2.mjs",
        {"@modelcontextprotocol/server": "2.4.0", "@modelcontextprotocol/client": "2.4.0", "zod": "4.6.7"},
    ),
    "python": ("python.py", {"mcp": "2.3.0", "pydantic": "2.14.4", "email-validator": "2.4.0"}),
    "fastmcp": ("python-fastmcp.py", {"fastmcp": "4.2.3", "mcp": "2.3.0", "pydantic": "2.14.4", "email-validator": "2.4.0"}),
    "python-lowlevel": ("python-lowlevel.py", {"mcp": "1.30.0", "jsonschema": "4.26.0", "pydantic": "2.14.4"}),
    "python-lowlevel-2": ("python-lowlevel-2.py", {"mcp": "2.3.0", "pydantic": "2.14.4"}),
}
# Packages whose newest version is looked for among those of the same major version.
OLD_LINES = {("python-lowlevel", "mcp")}


def run(command, folder=None):
    """Runs a command, and returns what it printed."""
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, encoding="utf-8").stdout


def record(name):
    script, packages = SERVERS[name]
    with tempfile.TemporaryDirectory(prefix="server") as temporary:
        folder = Path(temporary)
        shutil.copytree(TODAY, folder, dirs_exist_ok=True)
        if script.endswith(".mjs"):
            (folder / "package.json").write_text('{"private": true}\n', encoding="utf-8")
            pinned = [f"{package}@{version}" for package, version in packages.items()]
            run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", *pinned], folder)
            program = "node"
        else:
            run([sys.executable, "-m", "venv", "environment"], folder)
            program = str(folder / "environment" / "bin" / "python")
            pinned = [f"{package}=={version}" for package, version in packages.items()]
            run([program, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *pinned], folder)
        text = run([program, script], folder)
    page = json.loads(text)
    for package, version in packages.items():
        if page["versions"][package] != version:
            sys.exit(f"{name}: {package} is {page['versions'][package]}, rather than {version}")
    part = TODAY / f"{name}.part"
    part.write_text(text, encoding="utf-8")
    part.rename(TODAY / f"{name}.json")
    return len(page["answers"])


def published(script, package):
    """Returns the versions of a package, the newest first; of an npm package that one only."""
    if script.endswith(".mjs"):
        return [run(["npm", "view", package, "version"]).strip()]
    printed = run([sys.executable, "-m", "pip", "index", "versions", "--disable-pip-version-check", package])
    return re.search(r"^Available versions: (.+)$", printed, re.MULTILINE)[1].split(", ")


def show_newest():
    """Prints the recorded and the newest versions, and returns whether they are the same."""
    same, known = True, {}
    for name, (script, packages) in SERVERS.items():
        recorded = json.loads((TODAY / f"{name}.json").read_text(encoding="utf-8"))["versions"]
        for package in packages:
            if package not in known:
                known[package] = published(script, package)
            versions = known[package]
            if (name, package) in OLD_LINES:
                line = recorded[package].split(".")[0] + "."
                versions = [version for version in versions if version.startswith(line)]
            newer = "" if recorded[package] == versions[0] else "  differs"
            same = same and not newer
            print(f"{name:18} {package:29} {recorded[package]:8} {versions[0]}{newer}")
    return same


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--newest", action="store_true")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in SERVERS]
    if unknown:
        parser.error(f"no server {unknown[0]}; known are {', '.join(SERVERS)}")
    try:
        if arguments.newest:
            return 0 if show_newest() else 1
        for name in [name for name in SERVERS if not arguments.names or name in arguments.names]:
            print(f"{name}: {record(name)} calls recorded")
    except subprocess.CalledProcessError as error:
        sys.exit(f"{error}\n{error.stderr[-1500:]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
