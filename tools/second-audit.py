#!/usr/bin/env python3
"""Computes the scores of audits a second time, from the answers in their JSON, and compares them.

usage: tools/second-audit.py AUDIT...

An AUDIT is what `healbench audit --output json=AUDIT` wrote. What is decided here again, without code of healbench: which calls are scored, the
points of each, the means over the calls of a kind and the kinds of a tool, and the tools, and how many calls had another answer than the refused base call. What is taken from the
file: the answers, whether a call is invalid under its schema and its field optional, and what a reader found in a text. Exits 1 if a number differs. Needs Python alone.
"""

import json
import sys
from collections import defaultdict
from fractions import Fraction

FORMAT = "audit-score/2"
NOT_SCORED = {"coercible", "unknown_tool"}
REFUSED = {"protocol_error", "is_error"}
ACCEPTED = {"accepted_same", "accepted_other", "warned"}
# The schema does not tell these calls from right ones.
DOMAIN = {"declared", "no_such"}


def is_scored(call, calls):
    """Returns true if a call of these calls of a tool has points."""
    kind, accepted = call["kind"], call["answer"] in ACCEPTED
    if call["answer"] in ("asks", "environment") or {other["kind"] for other in calls} == {"undeclared"}:
        return False
    if kind == "declared":
        return True
    if kind == "no_such" or (kind == "null" and call["optional"]):
        return not accepted and (call["invalid"] or kind == "no_such")
    return call["invalid"] and kind not in NOT_SCORED


def points(call, calls):
    """Returns the points of a call from 0 to 100; None if it is not scored."""
    if not is_scored(call, calls):
        return None
    if call["answer"] not in REFUSED | {"warned"}:
        return Fraction(0)
    parts = [call["answer"] in REFUSED] + [call[part] for part in ("field", "remedy", "repaired") if call[part] is not None]
    return Fraction(100 * sum(parts), len(parts))


def mean(values):
    values = [value for value in values if value is not None]
    return sum(values, Fraction(0)) / len(values) if values else None


def of_kinds(tools):
    """Returns the points of the scored calls of tools by kind."""
    kinds = defaultdict(list)
    for tool in tools:
        for call in tool["probes"]:
            if points(call, tool["probes"]) is not None:
                kinds[call["kind"]].append(points(call, tool["probes"]))
    return kinds


def of_tool(tool):
    """Returns the score of a tool: the calls that fit the schema are worth as much as the others."""
    kinds = of_kinds([tool])
    halves = [mean(mean(kinds[kind]) for kind in kinds if (kind in DOMAIN) == is_domain) for is_domain in (False, True)]
    return mean(halves)


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
        if audit["format"] != FORMAT:
            sys.exit(f"{path}: its format is {audit['format']}, not {FORMAT}")
        scores = []
        for tool in audit["tools"]:
            for number, call in enumerate(tool["probes"]):
                compare(f"{path}: {tool['name']}, call {number}", points(call, tool["probes"]), call["points"])
            scores.append(of_tool(tool))
            compare(f"{path}: {tool['name']}", scores[-1], tool["score"])
        compare(path, mean(scores), audit["score"])
        kinds = of_kinds(audit["tools"])
        calls = [call for tool in audit["tools"] for call in tool["probes"]]
        # What is refused since the right call was made before reached the tool.
        refused = [tool for tool in audit["tools"] if tool["base"] and tool["base"]["state"].startswith("refused")]
        unscored = [(tool, call) for tool in audit["tools"] for call in tool["probes"] if call["answer"] == "environment"]
        # What is refused with a text that is kept is refused since the limit or the outage that it tells of.
        lost = sum(tool in refused or call["text"] is not None for tool, call in unscored)
        environment = audit["environment"] or {"reached": len(calls), "calls": len(calls)}
        compare(f"{path}: calls", Fraction(len(calls)), environment["calls"])
        compare(f"{path}: calls with another answer than the refused base call", Fraction(len(calls) - lost), environment["reached"])
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
