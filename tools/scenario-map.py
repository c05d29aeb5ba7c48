#!/usr/bin/env python3
"""Prints docs/scenarios.md: what each built-in scenario is about, and how often simulated readers and a recorded model succeed in it.

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
# The recorded model, and the settings that replay it once under the same conditions.
MODEL, RECORDED = "qwen-0.5b", "agents/e2e/assigned.toml"

HEAD = """# The built-in scenarios

Generated from the scenario files and a run of all of them (seed 1, {trials} trials, {scenarios} scenarios):

```sh
healbench run {suites} \\
  --agent {agents} --condition {conditions} --trials {trials}
```

A heading is the family, which is the mechanism of its scenarios ([families](suites.md)). A row has the scenario's kind and domain (its tags), one
sentence, and the percentage of episodes in which each reader succeeds under {shown}. A scenario that no reader fails,
or that none solves, shows nothing about error texts: *middle* counts those in which at least one reader succeeds in 20 to 80% under `sdk-typescript`
or `fusion`.

`{model}` is Qwen2.5-Coder 0.5B, replayed once in {recorded} scenarios under the same conditions (`healbench run --config {settings}`). The
others have not been run with a model under these conditions.
"""


def sentence_of(file):
    """Returns the first sentence of the description, and the tags. A variant is stored as JSON."""
    text = file.read_text()
    if file.suffix == ".json":
        scenario = json.loads(text)
        description, tags = scenario["description"].strip(), scenario["tags"]
    else:
        found = re.search(r"^description: *(>-?\n(?:(?: +.*)?\n)+|.*\n)", text, re.M)
        description = " ".join(found[1].lstrip(">-").split()).strip("'\"").replace("''", "'") if found else ""
        tags = re.search(r"^tags: *\[(.*?)\]", text, re.M)
        tags = [tag.strip() for tag in tags[1].split(",")] if tags else []
    # A colon or an abbreviation ends no sentence.
    first = re.split(r"(?<=[a-z0-9`\"')]\.) (?=[A-Z])", description)[0]
    return first.replace("|", "\\|"), tags


def successes(report):
    """Returns the percentages of the rows by scenario: {scenario: {reader: [percent, ...]}}."""
    found, reader = {}, None
    for line in report.split("\n"):
        heading = re.fullmatch(r"(?:scripted|model):([\w.-]+)(?: · .*)?", line.strip())
        reader = heading[1] if heading else reader
        row = re.fullmatch(r"\s+(\S+/\S+)((?:\s+\d+/\d+)+)\s*", line)
        if row:
            counts = [pair.split("/") for pair in row[2].split()]
            found.setdefault(row[1], {})[reader] = [round(100 * int(made) / int(of)) for made, of in counts]
    return found


def rates_of(options, run):
    """Returns the percentages of a run with these options, which is stored in the folder `run`."""
    command = [sys.argv[1], "run", *options, "--quiet", "--by-scenario", "--out", str(run)]
    return successes(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    suites, agents, conditions = FAMILIES + OTHERS, [f"scripted:{reader}" for reader in READERS], ",".join(CONDITIONS)
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        options = [*suites, "--agent", ",".join(agents), "--condition", conditions, "--trials", str(TRIALS)]
        rates = rates_of(options, run)
        recorded = rates_of(["--config", RECORDED, "--condition", conditions], Path(folder) / "recorded")
        plan = json.loads((run / "manifest.json").read_text())["plan"]["scenarios"]
        files = sorted((run / "scenarios").iterdir())
        abouts = {scenario["id"]: sentence_of(file) for scenario, file in zip(plan, files, strict=True)}
    clusters = {scenario["id"]: scenario["cluster"] for scenario in plan}
    if missing := sorted(set(clusters) - set(rates)):
        sys.exit(f"no rates for {missing[0]} and {len(missing) - 1} others")
    shown = ", ".join(f"`{name}`" for name in CONDITIONS[:-1]) + f" and `{CONDITIONS[-1]}`"
    print(
        HEAD.format(
            trials=TRIALS,
            scenarios=len(plan),
            suites=" ".join(suites),
            agents=",".join(agents),
            conditions=conditions,
            shown=shown,
            model=MODEL,
            recorded=len(recorded),
            settings=RECORDED,
        )
    )
    for suite in suites:
        rows = sorted(name for name in clusters if name.startswith(f"{suite}/"))
        middle = sum(any(20 <= rate <= 80 for reader in rates[name].values() for rate in reader[1:]) for name in rows)
        print(f"## `{suite}`\n\n{len(rows)} scenarios, {middle} in the middle.\n")
        print("| scenario | kind, domain | about | " + " | ".join([*READERS, MODEL]) + " |")
        print("|---|---|---|" + "--:|" * (len(READERS) + 1))
        for name in rows:
            about, tags = abouts[name]
            cluster = "" if clusters[name] == name else f" (cluster `{clusters[name]}`)"
            of_readers = [rates[name][reader] for reader in READERS]
            columns = [" / ".join(map(str, found)) for found in [*of_readers, recorded.get(name, {}).get(MODEL, ["–"])]]
            print(f"| {name.removeprefix(f'{suite}/')} | {', '.join(tags)} | {about}{cluster} | {' | '.join(columns)} |")
        print()


main()
