#!/usr/bin/env python3
"""Prints docs/scenarios.md: what each built-in scenario is about, and how often simulated readers succeed in it.

usage: tools/scenario-map.py PROGRAM > docs/scenarios.md
"""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

FAMILIES = "domain-errors look-ups cut-lists strictness fields values contracts transient server-bugs silent".split()
OTHERS = "quickstart hostile claims published".split()
READERS = ["perfect", "persistent"]
CONDITIONS = ["bare", "sdk-typescript", "fusion"]
TRIALS = 20

HEAD = """# The built-in scenarios

Generated from the scenario files and a run of all of them (seed 1, {trials} trials, {scenarios} scenarios):

```sh
healbench run {suites} \\
  --agent {agents} --condition {conditions} --trials {trials}
```

A row has the scenario's kind and domain (its tags), one sentence, and the percentage of episodes in which each reader succeeds under {shown}. A
scenario that no reader fails, or that none solves, shows nothing about error texts: *middle* counts those in which at least one reader succeeds in 20 to 80%
under `sdk-typescript` or `fusion`. Models were recorded in `published` and, once each, in
40 scenarios of the families ([findings](findings.md)), so that no column of a model is here.
"""


def sentence_of(text):
    """Returns the first sentence of the description, and the tags."""
    found = re.search(r"^description: *(>-?\n(?:(?: +.*)?\n)+|.*\n)", text, re.M)
    description = " ".join(found[1].lstrip(">-").split()).strip("'\"").replace("''", "'") if found else ""
    tags = re.search(r"^tags: *\[(.*?)\]", text, re.M)
    # A colon or an abbreviation ends no sentence.
    first = re.split(r"(?<=[a-z0-9`\"')]\.) (?=[A-Z])", description)[0]
    return first.replace("|", "\\|"), [tag.strip() for tag in tags[1].split(",")] if tags else []


def successes(report):
    """Returns the percentages of the rows by scenario: {scenario: {reader: [percent, ...]}}."""
    found, reader = {}, None
    for line in report.split("\n"):
        heading = re.fullmatch(r"scripted:(\w+)", line.strip())
        reader = heading[1] if heading else reader
        row = re.fullmatch(r"\s+(\S+/\S+)((?:\s+\d+/\d+)+)\s*", line)
        if row:
            counts = [pair.split("/") for pair in row[2].split()]
            found.setdefault(row[1], {})[reader] = [round(100 * int(made) / int(of)) for made, of in counts]
    return found


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    suites, agents, conditions = FAMILIES + OTHERS, [f"scripted:{reader}" for reader in READERS], ",".join(CONDITIONS)
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        command = [sys.argv[1], "run", *suites, "--agent", ",".join(agents), "--condition", conditions]
        command += ["--trials", str(TRIALS), "--quiet", "--by-scenario", "--out", str(run)]
        rates = successes(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        plan = json.loads((run / "manifest.json").read_text())["plan"]["scenarios"]
        files = sorted((run / "scenarios").iterdir())
        texts = {scenario["id"]: file.read_text() for scenario, file in zip(plan, files, strict=True)}
    clusters = {scenario["id"]: scenario["cluster"] for scenario in plan}
    if missing := sorted(set(clusters) - set(rates)):
        sys.exit(f"no rates for {missing[0]} and {len(missing) - 1} others")
    shown = ", ".join(f"`{name}`" for name in CONDITIONS[:-1]) + f" and `{CONDITIONS[-1]}`"
    print(HEAD.format(trials=TRIALS, scenarios=len(plan), suites=" ".join(suites), agents=",".join(agents), conditions=conditions, shown=shown))
    for suite in suites:
        rows = sorted(name for name in clusters if name.startswith(f"{suite}/"))
        middle = sum(any(20 <= rate <= 80 for rates_of in rates[name].values() for rate in rates_of[1:]) for name in rows)
        print(f"## `{suite}`\n\n{len(rows)} scenarios, {middle} in the middle.\n")
        print("| scenario | kind, domain | about | " + " | ".join(f"{reader}" for reader in READERS) + " |")
        print("|---|---|---|" + "--:|" * len(READERS))
        for name in rows:
            about, tags = sentence_of(texts[name])
            cluster = "" if clusters[name] == name else f" (cluster `{clusters[name]}`)"
            columns = [" / ".join(map(str, rates[name][reader])) for reader in READERS]
            print(f"| {name.split('/')[1]} | {', '.join(tags)} | {about}{cluster} | {' | '.join(columns)} |")
        print()


main()
