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
    """A database could not be asked; that says nothing about the packages."""

    def __init__(self, reason):
        super().__init__(f"the database of advisories cannot be reached: {reason}")


def run(command, folder=ROOT):
    return subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)


def last_line(text):
    return (text.strip().splitlines() or ["no reason is given"])[-1].strip()


def rust(lock):
    """Returns the number of packages and the advisories that concern them, as the other functions for a kind of lock file do."""
    deny = ["cargo-deny", "--color", "never", "--manifest-path", str(lock.with_name("Cargo.toml")), "--config", str(ROOT / "deny.toml"), "--locked"]
    fetched = run([*deny, "fetch", "db"])
    if fetched.returncode:
        raise Unreachable(last_line(fetched.stderr))
    checked = run([*deny, "check", "--hide-inclusion-graph", "advisories"])
    return lock.read_text(encoding="utf-8").count("[[package]]"), [checked.stderr.strip()] if checked.returncode else []


def npm(lock):
    audited = run(["npm", "audit", "--package-lock-only", "--json"], lock.parent)
    answer = json.loads(audited.stdout)
    if "vulnerabilities" not in answer:
        raise Unreachable(answer.get("message") or last_line(audited.stderr))
    # A package that has an advisory only through another one names that one.
    advisories = [via for package in answer["vulnerabilities"].values() for via in package["via"] if isinstance(via, dict)]
    found = {f"{via['name']} {via['range']}: {via['title']} ({via['url']})" for via in advisories if via["url"].split("/")[-1] not in IGNORED}
    return answer["metadata"]["dependencies"]["total"], sorted(found)


def python(lock):
    audited = run(["pip-audit", "--requirement", str(lock), "--no-deps", "--disable-pip", "--format", "json", "--progress-spinner", "off"])
    if not audited.stdout:
        raise Unreachable(last_line(audited.stderr))
    packages = json.loads(audited.stdout)["dependencies"]
    found = [
        f"{package['name']} {package['version']}: {known['id']}, mended in {', '.join(known['fix_versions']) or 'no version'}"
        for package in packages
        for known in package.get("vulns", [])
        if not IGNORED.keys() & {known["id"], *known["aliases"]}
    ]
    # Packages for which there is no answer are in the output as well.
    skipped = [package["skip_reason"] for package in packages if "skip_reason" in package]
    if skipped and not found:
        raise Unreachable(f"{len(skipped)} of {len(packages)} packages: {skipped[0]}")
    return len(packages), found


def lock_files():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    for name in tracked:
        path = ROOT / name
        if path.name == "Cargo.lock":
            yield name, "cargo-deny", rust, path
        elif path.name == "package-lock.json":
            yield name, "npm", npm, path
        elif path.name == "requirements.txt" or path.parent.name == "requirements":
            yield name, "pip-audit", python, path


def main():
    failed = False
    for name, program, look_up, path in lock_files():
        if not shutil.which(program):
            print(f"UNPROVEN: {name}: {program} is not installed")
            continue
        try:
            packages, found = look_up(path)
        except Unreachable as reason:
            print(f"UNPROVEN: {name}: {reason}")
            continue
        print(f"{name}: {packages} packages, {'advisories:' if found else 'no known advisory'}")
        for advisory in found:
            print(f"  {advisory}")
        failed |= bool(found)
    return 1 if failed else 0


sys.exit(main())
