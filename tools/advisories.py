#!/usr/bin/env python3
"""Looks up known vulnerabilities of all packages in the project's lock files.

usage: tools/advisories.py

Needs cargo-deny, npm and pip-audit on the path. Prints a line for each lock file: that nothing is known, or UNPROVEN and what could not be reached. Exits 1
if an advisory is found. `[advisories]` in deny.toml and `IGNORED` below list the advisories that do not concern this project, with the reasons.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Advisories for packages of npm and Python: identifier and reason.
IGNORED = {}


class Unreachable(Exception):
    """The database cannot be asked; not a word about the packages."""


def run(command, folder=ROOT):
    if not shutil.which(command[0]):
        raise Unreachable(f"{command[0]} is not installed")
    return subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)


def unreachable(reason):
    lines = [line.strip() for line in reason.splitlines() if line.strip()]
    return Unreachable("the database of advisories cannot be reached" + (f": {lines[-1][:200]}" if lines else ""))


def rust(lock):
    """Returns the number of crates and what is known of them."""
    deny = ["cargo-deny", "--color", "never", "--manifest-path", str(lock.with_name("Cargo.toml")), "--config", str(ROOT / "deny.toml"), "--locked"]
    fetched = run([*deny, "fetch", "db"])
    if fetched.returncode:
        raise unreachable(fetched.stderr)
    checked = run([*deny, "check", "--hide-inclusion-graph", "advisories"])
    return lock.read_text(encoding="utf-8").count("[[package]]"), [checked.stderr.strip()] if checked.returncode else []


def npm(lock):
    audited = run(["npm", "audit", "--package-lock-only", "--json"], lock.parent)
    try:
        answer = json.loads(audited.stdout)
        packages = answer["vulnerabilities"]
    except (ValueError, KeyError):
        raise unreachable(audited.stderr) from None
    advisories = [via for package in packages.values() for via in package["via"] if isinstance(via, dict)]
    found = {f"{via['name']} {via['range']}: {via['title']} ({via['url']})" for via in advisories if via["url"].split("/")[-1] not in IGNORED}
    return answer["metadata"]["dependencies"]["total"], sorted(found)


def python(lock):
    audited = run(["pip-audit", "--requirement", str(lock), "--no-deps", "--disable-pip", "--format", "json", "--progress-spinner", "off"])
    try:
        packages = json.loads(audited.stdout)["dependencies"]
    except (ValueError, KeyError):
        raise unreachable(audited.stderr) from None
    found = []
    for package in packages:
        # A package without an answer is in the output as well.
        if "skip_reason" in package:
            raise unreachable(package["skip_reason"])
        for known in package["vulns"]:
            if not IGNORED.keys() & {known["id"], *known["aliases"]}:
                found.append(f"{package['name']} {package['version']}: {known['id']}, mended in {', '.join(known['fix_versions']) or 'no version'}")
    return len(packages), found


def lock_files():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    for name in tracked:
        path = ROOT / name
        if path.name == "Cargo.lock":
            yield name, rust, path
        elif path.name == "package-lock.json":
            yield name, npm, path
        elif path.name == "requirements.txt" or path.parent.name == "requirements":
            yield name, python, path


def main():
    failed = False
    for name, look_up, path in lock_files():
        try:
            packages, found = look_up(path)
        except Unreachable as reason:
            print(f"UNPROVEN: {name}: {reason}")
            continue
        print(f"{name}: {packages} packages, {len(found) or 'no'} known advisories")
        for advisory in found:
            print(f"  {advisory}")
        failed |= bool(found)
    return 1 if failed else 0


sys.exit(main())
