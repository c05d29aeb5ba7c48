#!/usr/bin/env python3
"""Reads logs that `healbench report RUN --output inspect=FOLDER` wrote with inspect_ai, compares them with the report, and opens them with
`inspect view`.

usage: read-inspect-logs.py REPORT.json FOLDER
"""

import json
import math
import os
import socket
import subprocess
import sys
import time
import urllib.request

from inspect_ai.analysis import events_df, messages_df
from inspect_ai.log import list_eval_logs, read_eval_log


def main(report_file, folder):
    report = json.load(open(report_file))
    logs = [read_eval_log(info) for info in list_eval_logs(folder)]
    rows = {(agent["title"], row["condition"]): row for agent in report["agents"] for row in agent["rows"]}
    assert len(logs) == len(rows), f"{len(logs)} logs of {len(rows)} rows"
    calls = errors = 0
    for log in logs:
        row = rows.pop((log.eval.model, log.eval.metadata["condition"]))
        samples = log.samples or []
        assert len(samples) == row["episodes"], log.eval.task
        completed = sum(sample.error is None for sample in samples)
        assert completed == log.results.completed_samples == row["scored"], log.eval.task
        assert {sample.id for sample in samples} <= set(report["scenarios"])
        correct = sum(sample.scores["success"].value == "C" for sample in samples if sample.scores)
        assert correct == row["success"]["numerator"], (correct, row["success"])
        accuracy = log.results.scores[0].metrics["accuracy"].value
        assert math.isclose(accuracy, row["success"]["rate"]), (accuracy, row["success"])
        for sample in samples:
            sent = [call for message in sample.messages if message.role == "assistant" for call in message.tool_calls or []]
            answers = [message for message in sample.messages if message.role == "tool"]
            assert len(sent) == sample.metadata["calls"] == len(answers), sample.id
            assert [call.id for call in sent] == [answer.tool_call_id for answer in answers]
            failed = sum(answer.error is not None for answer in answers)
            assert failed == sample.metadata["errors"], sample.id
            calls, errors = calls + len(sent), errors + failed
    assert calls > 0 and errors > 0, (calls, errors)
    messages, events = messages_df(folder), events_df(folder)
    assert messages["message_id"].is_unique and len(messages) == sum(len(s.messages) for log in logs for s in log.samples or [])
    assert events["event_id"].is_unique and (events["event"] == "tool").sum() == calls, events["event"].value_counts()
    print(f"{len(logs)} logs, {sum(len(log.samples) for log in logs)} samples, {calls} calls, {errors} errors: as in the report")
    view(folder, len(logs))


def view(folder, expected):
    """Starts `inspect view` on loopback and asks it for its list of logs."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    inspect = os.path.join(os.path.dirname(sys.executable), "inspect")
    command = [inspect, "view", "start", "--log-dir", folder, "--host", "127.0.0.1", "--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(120):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/logs", timeout=10) as answer:
                    found = json.load(answer)
                break
            except OSError:
                assert server.poll() is None, "inspect view ended"
                time.sleep(0.5)
        else:
            raise AssertionError("inspect view does not answer")
        listed = len(found["files"])
        assert listed == expected, (listed, expected)
        print(f"inspect view lists {listed} logs")
    finally:
        server.terminate()
        server.wait(10)


if __name__ == "__main__":
    main(*sys.argv[1:])
