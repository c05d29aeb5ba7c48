"""A fixture that audits an MCP server with `healbench` and judges what its errors tell a reader."""

import dataclasses
import json
import os
import shutil
import subprocess

import pytest

# The texts that a failure shows.
WORST = 3


class AuditError(Exception):
    """The server could not be audited."""


@dataclasses.dataclass(frozen=True)
class Audit:
    """An audit, with the report of `healbench audit --output json`."""

    report: dict

    @property
    def score(self):
        """The score from 0 to 100; None if no call could be scored."""
        return self.report["score"]

    @property
    def tools(self):
        """The scores of the audited tools by name; None for a tool without one."""
        return {tool["name"]: tool["score"] for tool in self.report["tools"]}

    @property
    def texts(self):
        """The texts of refusals, the worst first: dicts with `example`, `tool`, `arguments`, `lacks`, `score` and `formats`."""
        return self.report["templates"]

    def findings(self, *severities):
        """Returns the findings of these severities (`error`, `warning`, `info`), all of them without one."""
        return [finding for finding in self.report["findings"] if not severities or finding["severity"] in severities]

    def assert_score(self, at_least):
        """Fails the test if the score is lower, or unknown."""
        __tracebackhide__ = True
        if self.score is None or self.score < at_least:
            pytest.fail(self.describe(at_least), pytrace=False)

    def assert_no_findings(self, *severities):
        """Fails the test if there is a finding of these severities, of `error` without one."""
        __tracebackhide__ = True
        found = self.findings(*(severities or ("error",)))
        if found:
            lines = [f"{len(found)} findings of {self._name()}"]
            lines += [f"  {one['severity']} {one['id']}, {_quoted(one['tool'])}: {_quoted(one['example'])}" for one in found]
            pytest.fail("\n".join(lines), pytrace=False)

    def describe(self, at_least):
        """Returns the score, those of the tools, and the worst texts with what they lack."""
        score = "has no score, since no call could be scored" if self.score is None else f"scores {self.score:.1f}"
        lines = [f"{self._name()} {score}; at least {at_least} is asked for"]
        known = sorted((score, name) for name, score in self.tools.items() if score is not None)
        lines += [f"  {score:5.1f}  {_quoted(name)}" for score, name in known]
        lacking = [text for text in self.texts if text["lacks"]]
        for text in lacking[:WORST]:
            lines.append(f"  {_quoted(text['tool'])} {json.dumps(text['arguments'])}")
            lines.append(f"    answers {_quoted(text['example'])}")
            lines.append(f"    lacks {', '.join(text['lacks'])}")
        if len(lacking) > WORST:
            lines.append(f"  and {len(lacking) - WORST} more texts that lack something")
        if self.report["environment"]:
            lost = self.report["environment"]
            lines.append(f"  {lost['reached']} of {lost['calls']} calls reached a tool: {_quoted(lost['reason'])}")
        lines += [f"  {note}" for note in map(_quoted, self.report["notes"]) if self.score is None]
        return "\n".join(lines)

    def _name(self):
        return _quoted(self.report["server"]["name"] or "the server")


def _quoted(text):
    """Returns text of a server in one line, in which nothing is invisible."""
    return json.dumps(text if text is None or len(text) <= 300 else text[:300] + "…")


def pytest_addoption(parser):
    group = parser.getgroup("healbench")
    group.addoption("--healbench", metavar="PROGRAM", help="the program healbench (default: $HEALBENCH, or the one on the path)")


@pytest.fixture(scope="session")
def healbench_audit(pytestconfig):
    """Audits a server: `healbench_audit("python", "server.py", calls="calls.yaml")`. Equal audits of a session are made once.

    The words are the command of the server, which is found from the root of the tests. `url` is a server that runs already. `calls`,
    `fixture`, `tools` and `env` are the options of `healbench audit`, and `args` are further ones.
    """
    program = pytestconfig.getoption("--healbench") or os.environ.get("HEALBENCH") or "healbench"
    audits = {}

    def audit(*command, url=None, calls=None, fixture=None, tools=(), env=(), args=()):
        words = ["audit", "--output", "json"]
        words += [f"--calls={calls}"] if calls else []
        words += [f"--fixture={fixture}"] if fixture else []
        words += [f"--tool={tool}" for tool in tools]
        words += [f"--env={name}" for name in env]
        words += [str(word) for word in args]
        words += [f"--url={url}"] if url else ["--", *map(str, command)]
        key = tuple(words)
        if key not in audits:
            audits[key] = run(program, words, pytestconfig.rootpath)
        return audits[key]

    return audit


def run(program, words, folder):
    """Runs the program in a folder, and returns the Audit."""
    found = shutil.which(program)
    if found is None:
        raise AuditError(f"`{program}` is not found: install healbench, or name the program with --healbench or $HEALBENCH")
    result = subprocess.run([found, *words], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, encoding="utf-8")
    # 1 and 2 are exit codes of audits too; without a report nothing was audited.
    if result.returncode not in (0, 1, 2) or not result.stdout:
        raise AuditError(f"`{program} {' '.join(words)}` ended with {result.returncode}: {result.stderr.strip()}")
    report = json.loads(result.stdout)
    if not str(report.get("format")).startswith("audit-score/"):
        raise AuditError(f"`{program}` wrote no audit")
    return Audit(report)
