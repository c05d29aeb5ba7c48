#!/usr/bin/env python3
"""Computes the scores of audits a second time, from the answers in their JSON, and compares them.

usage: tools/second-audit.py AUDIT...

An AUDIT is what `healbench audit --output json=AUDIT` wrote. What is decided here again, without code of healbench: which calls are scored, the
points of each, and the means over the calls of a kind, the kinds of a tool, and the tools. What is taken from the file: the answers, whether a call is
invalid under its schema, and what a reader found in a text. Exits 1 if a number differs. Needs Python alone.
"""

import json
import sys
from collections import defaultdict
from fractions import Fraction

NOT_SCORED = {"coercible", "unknown_tool"}
REFUSED = {"protocol_error", "is_error"}


def points(call):
    """Returns the points of a call from 0 to 100; None if it is not scored."""
    counts = call["kind"] == "declared" or (call["invalid"] and call["kind"] not in NOT_SCORED)
    if not counts or call["answer"] == "asks":
        return None
    if call["answer"] not in REFUSED:
        return Fraction(0)
    parts = [True] + [call[part] for part in ("field", "remedy", "repaired") if call[part] is not None]
    return Fraction(100 * sum(parts), len(parts))


def mean(values):
    values = [value for value in values if value is not None]
    return sum(values, Fraction(0)) / len(values) if values else None


def of_kinds(calls):
    """Returns the points of the scored calls by kind."""
    kinds = defaultdict(list)
    for call in calls:
        if points(call) is not None:
            kinds[call["kind"]].append(points(call))
    return kinds


def main():
    compared, differences = 0, []

    def compare(where, expected, found):
        nonlocal compared
        compared += 1
        same = (expected is None) == (found is None) and (found is None or abs(float(expected) - found) < 1e-9)
        if not same:
            differences.append(f"{where}: {found} in the file, {None if expected is None else float(expected)} here")

    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            audit = json.load(file)
        scores = []
        for tool in audit["tools"]:
            for number, call in enumerate(tool["probes"]):
                compare(f"{path}: {tool['name']}, call {number}", points(call), call["points"])
            scores.append(mean(mean(of_kind) for of_kind in of_kinds(tool["probes"]).values()))
            compare(f"{path}: {tool['name']}", scores[-1], tool["score"])
        compare(path, mean(scores), audit["score"])
        calls = [call for tool in audit["tools"] for call in tool["probes"]]
        kinds = of_kinds(calls)
        for kind in audit["kinds"]:
            compare(f"{path}: {kind['kind']}", mean(kinds.get(kind["kind"], [])), kind["score"])
            compare(f"{path}: {kind['kind']}, scored", Fraction(len(kinds.get(kind["kind"], []))), kind["scored"])
        for name, count in (
            ("tools", sum(score is not None for score in scores)),
            ("probes", sum(map(len, kinds.values()))),
            ("kinds", len(kinds)),
        ):
            compare(f"{path}: {name} behind the score", Fraction(count), audit["scored"][name])
    print(f"{compared} numbers of {len(sys.argv) - 1} audits, {len(differences)} differ")
    for difference in differences:
        print(difference)
    sys.exit(1 if differences else 0)


main()
