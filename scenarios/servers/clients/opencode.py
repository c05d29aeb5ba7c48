"""Plays the calls of a plan with opencode, and prints what it shows its model of each answer. Tried with opencode 1.18.33.

usage: opencode.py OPENCODE PLAN COMMAND...

The model is a server on loopback that asks for one call after the other, in the way of OpenAI's chat completions. opencode
starts with an empty home, and offers what it offers.
"""

import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading

SERVER = "t"


class Model(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    shown = {}

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answers = [message for message in request["messages"] if message["role"] == "tool"]
        # A request without tools is for a title of the session.
        is_turn = bool(request.get("tools"))
        if is_turn:
            for number, answer in enumerate(answers):
                content = answer["content"]
                if not isinstance(content, str):
                    content = "\n\n".join(part.get("text", "") for part in content)
                self.shown[number] = content
        if is_turn and len(answers) < len(PLAN["calls"]):
            call = PLAN["calls"][len(answers)]
            function = {"name": f"{SERVER}_{call['name']}", "arguments": json.dumps(call["arguments"])}
            delta = {"tool_calls": [{"index": 0, "id": f"call_{len(answers)}", "type": "function", "function": function}]}
            reason = "tool_calls"
        else:
            delta, reason = {"content": "Done."}, "stop"
        head = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "scripted"}
        chunks = [
            {**head, "choices": [{"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": None}]},
            {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
            {**head, "choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}},
        ]
        body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


def main():
    model = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{model.server_address[1]}/v1"
    config = {
        "autoupdate": False,
        "share": "disabled",
        "permission": {"*": "allow"},
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "provider": {
            "scripted": {
                "npm": "@ai-sdk/openai-compatible",
                "options": {"baseURL": url, "apiKey": "none"},
                "models": {"scripted": {"limit": {"context": 10_000_000, "output": 100_000}}},
            }
        },
        "mcp": {SERVER: {"type": "local", "command": COMMAND, "enabled": True, "timeout": 30_000}},
    }
    with tempfile.TemporaryDirectory() as home:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": home,
            "OPENCODE_CONFIG_CONTENT": json.dumps(config),
            "OPENCODE_DISABLE_MODELS_FETCH": "true",
            "OPENCODE_DISABLE_AUTOUPDATE": "true",
        }
        command = [OPENCODE, "run", "--model", "scripted/scripted", "Call the tools."]
        played = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if played.returncode != 0 or len(Model.shown) < len(PLAN["calls"]):
        sys.exit(f"{len(Model.shown)} of {len(PLAN['calls'])} calls were answered: {played.stderr[-2000:]}")
    for number, call in enumerate(PLAN["calls"]):
        print(json.dumps({**call, "text": Model.shown[number]}))


OPENCODE = sys.argv[1]
with open(sys.argv[2], encoding="utf-8") as file:
    PLAN = json.load(file)
COMMAND = sys.argv[3:]
main()
