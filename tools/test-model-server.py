#!/usr/bin/env python3
"""Tests tools/model-server.py by HTTP.

usage: tools/test-model-server.py
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request
from pathlib import Path

SERVER = str(Path(__file__).resolve().parent / "model-server.py")
SCRIPT = {
    "conversations": [
        {"prompt": "two", "turns": [{"calls": [{"tool": "add"}, {"tool": "list"}]}, {"tool": "gone", "exact": True}, {"text": "Both."}]},
        {"turns": [{"tool": "users", "arguments": {"name": "é"}}, {"tool": "add", "arguments": "{broken"}, {"text": "Done."}]},
    ]
}


def chat(prompt, tools, answered=0, **more):
    messages = [{"role": "system", "content": "two"}, {"role": "user", "content": [{"type": "text", "text": prompt}]}]
    messages += [{"role": "tool", "tool_call_id": str(number), "content": "ok"} for number in range(answered)]
    offered = [{"type": "function", "function": {"name": name}} for name in tools]
    return {"model": "m", "messages": messages, "tools": offered, **more}


def responses(tools, answered=0, **more):
    entries = [{"role": "user", "content": "go"}]
    entries += [{"type": "function_call_output", "call_id": str(number), "output": "ok"} for number in range(answered)]
    return {"model": "m", "input": entries, "tools": tools, **more}


class ModelServer(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.log = self.folder / "log.jsonl"
        script = self.folder / "script.json"
        script.write_text(json.dumps(SCRIPT), encoding="utf-8")
        self.server = subprocess.Popen([SERVER, str(script), "--log", str(self.log)], stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.server.wait)
        self.addCleanup(self.server.terminate)
        self.addCleanup(self.server.stdout.close)
        self.url = self.server.stdout.readline().split()[-1]

    def post(self, path, body):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Authorization": "Bearer canary"})
        try:
            with urllib.request.urlopen(request, timeout=10) as response:
                text = response.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read())["error"]["message"]
        if response.headers["Content-Type"] == "application/json":
            return 200, json.loads(text)
        lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
        return 200, [line if line == "[DONE]" else json.loads(line) for line in lines]

    def called(self, body):
        status, answer = self.post("/chat/completions", body)
        self.assertEqual(status, 200, answer)
        message = answer["choices"][0]["message"]
        return [(call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls", [])] or message["content"]

    def test_tools_are_found_as_clients_name_them(self):
        for names in (["users", "t_users"], ["t_users", "my_t_users"], ["mcp__t__users"], ["t.users"]):
            self.assertEqual(self.called(chat("one", names)), [(names[0], '{"name": "é"}')])
        status, message = self.post("/chat/completions", chat("one", ["superusers", "bash"]))
        self.assertEqual((status, message), (400, "no offered tool is the server's `users`; there are: bash, superusers"))

    def test_the_turn_is_counted_in_the_request(self):
        tools = ["t_users", "t_add", "t_list"]
        self.assertEqual(self.called(chat("one", tools, 1)), [("t_add", "{broken")])
        self.assertEqual(self.called(chat("one", tools, 2)), "Done.")
        self.assertEqual(self.called(chat("one", tools, 9)), "Done.")
        self.assertEqual(self.called(chat("one two", tools)), [("t_add", "{}"), ("t_list", "{}")])
        self.assertEqual(self.called(chat("one two", tools, 2)), [("gone", "{}")])
        self.assertEqual(self.called(chat("one two", tools, 3)), "Both.")
        self.assertEqual(self.called(chat("one", [])), "Title")

    def test_a_stream_says_what_a_plain_answer_says(self):
        for path, body in (
            ("/chat/completions", chat("one two", ["add", "list"])),
            ("/chat/completions", chat("one", ["add"], 2)),
            ("/responses", responses([{"type": "function", "name": "users"}])),
            ("/responses", responses([{"type": "function", "name": "users"}], 2)),
        ):
            _, plain = self.post(path, body)
            _, stream = self.post(path, {**body, "stream": True})
            if path == "/responses":
                self.assertEqual([event["sequence_number"] for event in stream], list(range(len(stream))))
                self.assertEqual(stream[-1]["response"], plain)
                done = [event["item"] for event in stream if event["type"] == "response.output_item.done"]
                self.assertEqual(done, plain["output"])
                continue
            self.assertEqual(stream[-1], "[DONE]")
            delta = stream[0]["choices"][0]["delta"]
            for index, call in enumerate(delta.get("tool_calls") or []):
                self.assertEqual(call.pop("index"), index)
            choice = plain["choices"][0]
            self.assertEqual((delta, stream[1]["choices"][0]["finish_reason"]), (choice["message"], choice["finish_reason"]))
            self.assertEqual(stream[2]["usage"], plain["usage"])

    def test_a_namespace_goes_back_with_the_call(self):
        inner = [{"type": "function", "name": "list"}, {"type": "function", "name": "users"}]
        _, answer = self.post("/responses", responses([{"type": "namespace", "name": "mcp__t", "tools": inner}]))
        call = answer["output"][0]
        self.assertEqual((call["namespace"], call["name"], call["call_id"]), ("mcp__t", "users", "call_0"))

    def test_requests_are_recorded_without_headers(self):
        self.called(chat("one", ["users"]))
        self.post("/responses", b"{not json")
        self.post("/responses", {"input": 7})
        entries = [json.loads(line) for line in self.log.read_text(encoding="utf-8").splitlines()]
        self.assertEqual(entries[0], {"path": "/v1/chat/completions", "request": chat("one", ["users"])})
        self.assertTrue(all("not a request of this API" in entry["problem"] for entry in entries[1:]))
        self.assertEqual(len(entries), 3)
        self.assertNotIn("canary", self.log.read_text(encoding="utf-8"))
        self.assertEqual(self.post("/embeddings", {})[0], 404)

    def test_a_command_gets_the_address_and_its_status_is_the_servers(self):
        script = self.folder / "script.json"
        code = "import os, sys; sys.exit(7 if sys.argv[1] == os.environ['MODEL_URL'] else 1)"
        run = subprocess.run([SERVER, str(script), "--", sys.executable, "-c", code, "{model_url}"], check=False)
        self.assertEqual(run.returncode, 7)

    def test_a_wrong_script_is_refused_with_its_place(self):
        for text, problem in (
            ("[]", "a script is an object with a list `conversations`"),
            ('{"conversations": [{"turns": [{"tool": "a"}, {"txt": "b"}]}]}', "conversation 0, turn 1 is neither a text nor a call"),
            ('{"conversations": [{"turn": []}]}', "conversation 0 has `turns`"),
            ("{", "Expecting property name"),
        ):
            script = self.folder / "wrong.json"
            script.write_text(text, encoding="utf-8")
            run = subprocess.run([SERVER, str(script)], capture_output=True, text=True, check=False, env=dict(os.environ))
            self.assertEqual((run.returncode, problem in run.stderr, run.stdout), (1, True, ""), run.stderr)


unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
