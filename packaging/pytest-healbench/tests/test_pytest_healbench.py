"""Needs `healbench` (on the path, or as $HEALBENCH), and node for the server."""

import os
import pathlib
import shutil

import pytest

pytest_plugins = ["pytester"]

PROGRAM = shutil.which(os.environ.get("HEALBENCH", "healbench"))
NEEDED = [name for name, path in [("healbench", PROGRAM), ("node", shutil.which("node"))] if path is None]
pytestmark = pytest.mark.skipif(bool(NEEDED), reason=f"not found: {', '.join(NEEDED)}")

# Two tools. One is refused with a text that says all, and the other with one that says nothing.
SERVER = r"""
const text = { inputSchema: { type: "object", properties: { id: { type: "string", examples: ["a"] } }, required: ["id"] } };
const tools = ["says", "mutters"].map((name) => ({ name, ...text, annotations: { readOnlyHint: true } }));
const call = ({ name, arguments: { id } }) => {
  if (typeof id === "string") return { content: [{ type: "text", text: `found ${id}` }] };
  const all = `id: expected string, received ${id === undefined ? "undefined" : typeof id}`;
  return { content: [{ type: "text", text: name === "says" ? all : "No\u001b[31m" }], isError: true };
};
const methods = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "two", version: "1" } }),
  "tools/list": () => ({ tools }),
  "tools/call": call,
};
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: methods[method](params) }));
});
"""


def played(pytester, test, *args):
    pytester.path.joinpath("server.js").write_text(SERVER)
    pytester.makepyfile(test)
    return pytester.runpytest(f"--healbench={PROGRAM}", *args)


def test_a_score_is_judged(pytester):
    result = played(
        pytester,
        """
        def test_low(healbench_audit):
            audit = healbench_audit("node", "server.js")
            assert audit.tools["mutters"] < audit.score < audit.tools["says"]
            audit.assert_score(audit.score)
            healbench_audit("node", "server.js", tools=["says"]).assert_score(audit.tools["says"])

        def test_high(healbench_audit):
            healbench_audit("node", "server.js").assert_score(99.5)
        """,
    )
    result.assert_outcomes(passed=1, failed=1)
    shown = result.stdout.str()
    assert '"two" scores ' in shown and "at least 99.5 is asked for" in shown
    assert '    answers "No\\u001b[31m"' in shown and "lacks the field, what would be right" in shown
    assert "\x1b[31mNo" not in shown


def test_findings_are_listed(pytester):
    result = played(
        pytester,
        """
        def test_errors(healbench_audit):
            healbench_audit("node", "server.js").assert_no_findings()

        def test_warnings(healbench_audit):
            healbench_audit("node", "server.js").assert_no_findings("error", "warning")
        """,
    )
    result.assert_outcomes(passed=1, failed=1)
    assert 'warning no-remedy, "mutters": ' in result.stdout.str()


def test_a_server_that_does_not_start_is_an_error_of_its_test(pytester):
    result = played(
        pytester,
        """
        import pytest
        import pytest_healbench

        def test_none(healbench_audit):
            with pytest.raises(pytest_healbench.AuditError, match="no-such-server.*cannot be started"):
                healbench_audit("no-such-server")
            with pytest.raises(pytest_healbench.AuditError, match="has no tool `sayz`"):
                healbench_audit("node", "server.js", tools=["sayz"])

        def test_unknown(healbench_audit):
            # Nothing that may be called: no score is not a score of 0.
            healbench_audit("node", "-e", SERVER).assert_score(0)

        def test_lost(healbench_audit):
            lost = open("server.js").read().replace('typeof id === "string"', "false")
            healbench_audit("node", "-e", lost.replace('name === "says" ? all : "No', '"no network')).assert_score(0)

        SERVER = open("server.js").read().replace("readOnlyHint: true", "readOnlyHint: false")
        """,
    )
    result.assert_outcomes(passed=1, failed=2)
    assert "has no score, since no call could be scored" in result.stdout.str()
    assert '0 of 10 calls reached a tool: "no network' in result.stdout.str()


def test_a_program_that_is_missing_is_named(pytester):
    pytester.makepyfile("def test_it(healbench_audit): healbench_audit('x')")
    result = pytester.runpytest("--healbench=no-such-program")
    assert "`no-such-program` is not found: install healbench" in result.stdout.str()


def test_equal_audits_are_made_once(pytester):
    counter = pathlib.Path(pytester.path, "program")
    counter.write_text(f'#!/bin/sh\necho x >> started\nexec "{PROGRAM}" "$@"\n')
    counter.chmod(0o755)
    pytester.path.joinpath("server.js").write_text(SERVER)
    pytester.makepyfile("def test_it(healbench_audit): assert healbench_audit('node', 'server.js') is healbench_audit('node', 'server.js')")
    pytester.runpytest(f"--healbench={counter}").assert_outcomes(passed=1)
    assert pytester.path.joinpath("started").read_text() == "x\n"
