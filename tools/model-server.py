#!/usr/bin/env python3
"""A scripted model behind OpenAI's APIs, chat completions and responses, which records what it is asked. Python 3.11, loopback only.

usage: tools/model-server.py SCRIPT [--log FILE] [--port PORT] [-- COMMAND...]

Prints its address, and serves until it is interrupted. With COMMAND it runs that instead, with `{model_url}` in its words replaced and the
address in the variable MODEL_URL, ends with it, and exits with its status. `--log` writes every request as a line of JSON: its path and
its body, and no header, since headers hold keys.

SCRIPT is a JSON file. A conversation is chosen by a text in its first messages of the user; the first one that fits, so one without `prompt`
comes last:

    {"conversations": [
        {"prompt": "Add Ann", "turns": [{"tool": "users", "arguments": {"action": "list"}}, {"text": "Done."}]},
        {"turns": [{"calls": [{"tool": "a", "arguments": {}}, {"tool": "b", "arguments": {}}]}, {"text": "Done."}]}
    ]}

A turn is a call, several calls, or a text. The turn to answer is counted in the request: the calls that are answered there. So the server
keeps no state, and conversations may run side by side. After the last turn it answers with the text of the last one that has any. `tool` is the
server's name for a tool: it finds `users` among the tools of a request also if a client calls it `t_users` or `mcp__t__users`, or puts it into a
namespace. `{"tool": ..., "exact": true}` sends a name as it is, for tools that nobody offers. `arguments` may be a text, which is sent as it
is. A request that offers no tools is for something else, such as a title, and gets a text.

A request that cannot be answered gets HTTP 400 with the reason, which also stands in the log.
"""

import argparse
import http.server
import json
import os
import re
import subprocess
import sys
import threading

MAX_REQUEST_BYTES = 256 << 20
USAGE = {"input": 100, "output": 10}


class Unanswerable(Exception):
    """A request that the script does not provide for."""


class Script:
    """The conversations of a file, checked."""

    def __init__(self, text):
        script = json.loads(text)
        if not isinstance(script, dict) or not script.get("conversations"):
            raise ValueError("a script is an object with a list `conversations`")
        unknown = set(script) - {"conversations", "usage"}
        if unknown:
            raise ValueError(f"a script has no key `{sorted(unknown)[0]}`")
        self.usage = {**USAGE, **script.get("usage", {})}
        self.conversations = []
        for number, conversation in enumerate(script["conversations"]):
            place = f"conversation {number}"
            unknown = set(conversation) - {"prompt", "turns"}
            if unknown or not conversation.get("turns"):
                raise ValueError(f"{place} has `turns`, and may have `prompt`, and nothing else")
            turns = [self.turn(turn, f"{place}, turn {index}") for index, turn in enumerate(conversation["turns"])]
            self.conversations.append((conversation.get("prompt", ""), turns))

    @staticmethod
    def turn(turn, place):
        """Returns a text or a list of calls."""
        if set(turn) == {"text"} and isinstance(turn["text"], str):
            return turn["text"]
        calls = turn["calls"] if set(turn) == {"calls"} else [turn]
        for call in calls:
            is_call = "tool" in call and set(call) <= {"tool", "arguments", "exact"}
            if not is_call or not isinstance(call.get("arguments", {}), (dict, str)):
                raise ValueError(f"{place} is neither a text nor a call with `tool` and `arguments`")
        if not calls:
            raise ValueError(f"{place} has no call")
        return calls

    def next_turn(self, prompt, answered):
        """Returns the turn after `answered` answered calls."""
        for part, turns in self.conversations:
            if part in prompt:
                break
        else:
            raise Unanswerable("no conversation of the script has a `prompt` that is in the messages of the user")
        for turn in turns:
            if answered <= 0:
                return turn
            answered -= 0 if isinstance(turn, str) else len(turn)
        return next((turn for turn in reversed(turns) if isinstance(turn, str)), "Done.")


def find_tool(name, offered):
    """Returns the offered tool that a server calls `name`: itself, or the shortest one that ends with it after a separator."""
    if name in [tool for _, tool in offered]:
        return next(tool for tool in offered if tool[1] == name)
    # Clients replace characters that model APIs do not take.
    sent = re.sub(r"[^A-Za-z0-9_-]", "_", name)
    ends = [tool for tool in offered if re.search(rf"(^|[_.:/-]){re.escape(sent)}$", tool[1])]
    if not ends:
        names = ", ".join(sorted(tool for _, tool in offered))
        raise Unanswerable(f"no offered tool is the server's `{name}`; there are: {names}")
    return min(ends, key=lambda tool: len(tool[1]))


def planned_calls(turn, offered, first):
    """Returns the calls of a turn as (id, namespace, name, arguments)."""
    calls = []
    for index, call in enumerate(turn):
        namespace, name = (None, call["tool"]) if call.get("exact") else find_tool(call["tool"], offered)
        arguments = call.get("arguments", {})
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        calls.append((f"call_{first + index}", namespace, name, text))
    return calls


def text_of(content):
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or [] if isinstance(part, dict))


class ChatCompletions:
    """`POST /v1/chat/completions`."""

    @staticmethod
    def read(request):
        """Returns the user's text, the number of answered calls, and the offered tools as (namespace, name)."""
        messages = request["messages"]
        prompt = "\n".join(text_of(message.get("content")) for message in messages if message["role"] == "user")
        answered = sum(message["role"] == "tool" for message in messages)
        return prompt, answered, [(None, tool["function"]["name"]) for tool in request.get("tools") or []]

    @staticmethod
    def message(turn, calls):
        if calls is None:
            return {"role": "assistant", "content": turn}, "stop"
        functions = [
            {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}} for id, _, name, arguments in calls
        ]
        return {"role": "assistant", "content": None, "tool_calls": functions}, "tool_calls"

    @staticmethod
    def usage(usage):
        total = usage["input"] + usage["output"]
        return {"prompt_tokens": usage["input"], "completion_tokens": usage["output"], "total_tokens": total}

    @classmethod
    def plain(cls, request, turn, calls, usage):
        message, reason = cls.message(turn, calls)
        choice = {"index": 0, "message": message, "finish_reason": reason}
        head = {"id": "chatcmpl-0", "object": "chat.completion", "created": 0, "model": request.get("model")}
        return {**head, "choices": [choice], "usage": cls.usage(usage)}

    @classmethod
    def stream(cls, request, turn, calls, usage):
        message, reason = cls.message(turn, calls)
        for index, call in enumerate(message.get("tool_calls") or []):
            call["index"] = index
        head = {"id": "chatcmpl-0", "object": "chat.completion.chunk", "created": 0, "model": request.get("model")}
        yield None, {**head, "choices": [{"index": 0, "delta": message, "finish_reason": None}]}
        yield None, {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}
        yield None, {**head, "choices": [], "usage": cls.usage(usage)}
        yield None, "[DONE]"


class Responses:
    """`POST /v1/responses`."""

    @staticmethod
    def read(request):
        """Returns the user's text, the number of answered calls, and the offered tools as (namespace, name)."""
        entries = request["input"]
        if isinstance(entries, str):
            entries = [{"role": "user", "content": entries}]
        prompt = "\n".join(text_of(entry.get("content")) for entry in entries if entry.get("role") == "user")
        answered = sum(entry.get("type") == "function_call_output" for entry in entries)
        offered = []
        for tool in request.get("tools") or []:
            if tool.get("type") == "namespace":
                offered += [(tool["name"], inner["name"]) for inner in tool.get("tools", []) if inner.get("type") == "function"]
            elif tool.get("type") == "function":
                offered.append((None, tool["name"]))
        return prompt, answered, offered

    @staticmethod
    def items(turn, calls):
        if calls is None:
            content = [{"type": "output_text", "text": turn, "annotations": []}]
            return [{"type": "message", "id": "msg_0", "role": "assistant", "status": "completed", "content": content}]
        return [
            {
                "type": "function_call",
                "id": f"fc_{id}",
                "call_id": id,
                "status": "completed",
                **({"namespace": namespace} if namespace else {}),
                "name": name,
                "arguments": arguments,
            }
            for id, namespace, name, arguments in calls
        ]

    @classmethod
    def plain(cls, request, turn, calls, usage):
        total = usage["input"] + usage["output"]
        details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        return {
            "id": "resp_0",
            "object": "response",
            "created_at": 0,
            "status": "completed",
            "model": request.get("model"),
            "output": cls.items(turn, calls),
            "usage": {"input_tokens": usage["input"], "output_tokens": usage["output"], "total_tokens": total, **details},
        }

    @classmethod
    def stream(cls, request, turn, calls, usage):
        response = cls.plain(request, turn, calls, usage)
        events = [("response.created", {"response": {**response, "status": "in_progress", "output": [], "usage": None}})]
        for index, item in enumerate(response["output"]):
            at = {"output_index": index, "item_id": item["id"]}
            empty = {"content": []} if calls is None else {"arguments": ""}
            events.append(("response.output_item.added", {"output_index": index, "item": {**item, "status": "in_progress", **empty}}))
            if calls is None:
                events.append(("response.output_text.delta", {**at, "content_index": 0, "delta": turn}))
                events.append(("response.output_text.done", {**at, "content_index": 0, "text": turn}))
            else:
                events.append(("response.function_call_arguments.delta", {**at, "delta": item["arguments"]}))
                events.append(("response.function_call_arguments.done", {**at, "arguments": item["arguments"]}))
            events.append(("response.output_item.done", {"output_index": index, "item": item}))
        events.append(("response.completed", {"response": response}))
        for number, (kind, event) in enumerate(events):
            yield kind, {"type": kind, "sequence_number": number, **event}


APIS = {"/chat/completions": ChatCompletions, "/responses": Responses}


def handler(script, log):
    lock = threading.Lock()

    def record(entry):
        if log:
            with lock:
                log.write(json.dumps(entry) + "\n")
                log.flush()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            models = {"object": "list", "data": [{"id": "scripted", "object": "model", "created": 0, "owned_by": "script"}]}
            if self.path.split("?")[0].endswith("/models"):
                self.reply(200, "application/json", json.dumps(models))
            else:
                self.fail(404, f"there is no {self.path}")

        def do_POST(self):
            path = self.path.split("?")[0]
            length = self.headers.get("Content-Length", "")
            if not length.isdigit() or int(length) > MAX_REQUEST_BYTES:
                self.close_connection = True
                return self.fail(411, "a request needs a length, of 256 MiB at most")
            body = self.rfile.read(int(length))
            api = next((api for end, api in APIS.items() if path.endswith(end)), None)
            if not api:
                return self.fail(404, f"there is no {path}")
            request = None
            try:
                request = json.loads(body)
                prompt, answered, offered = api.read(request)
                turn = script.next_turn(prompt, answered) if offered else "Title"
                calls = None if isinstance(turn, str) else planned_calls(turn, offered, answered)
            except Unanswerable as reason:
                record({"path": path, "request": request, "problem": str(reason)})
                return self.fail(400, str(reason))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                problem = f"not a request of this API: {type(error).__name__}: {error}"
                record({"path": path, "request": request, "problem": problem})
                return self.fail(400, problem)
            record({"path": path, "request": request})
            if request.get("stream"):
                lines = []
                for kind, event in api.stream(request, turn, calls, script.usage):
                    data = event if isinstance(event, str) else json.dumps(event)
                    lines.append((f"event: {kind}\n" if kind else "") + f"data: {data}\n\n")
                return self.reply(200, "text/event-stream", "".join(lines))
            self.reply(200, "application/json", json.dumps(api.plain(request, turn, calls, script.usage)))

        def fail(self, status, message):
            error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
            self.reply(status, "application/json", json.dumps({"error": error}))

        def reply(self, status, kind, text):
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    return Handler


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        # A client that is ended amid a request is no event.
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def main():
    words = sys.argv[1:]
    command = words[words.index("--") + 1 :] if "--" in words else []
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("script")
    parser.add_argument("--log")
    parser.add_argument("--port", type=int, default=0)
    arguments = parser.parse_args(words[: words.index("--")] if "--" in words else words)
    try:
        with open(arguments.script, encoding="utf-8") as file:
            script = Script(file.read())
    except (OSError, ValueError, TypeError, AttributeError) as error:
        sys.exit(f"{arguments.script}: {error}")
    log = open(arguments.log, "a", encoding="utf-8") if arguments.log else None
    server = Server(("127.0.0.1", arguments.port), handler(script, log))
    url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    if command:
        environment = {**os.environ, "MODEL_URL": url}
        sys.exit(subprocess.run([word.replace("{model_url}", url) for word in command], env=environment, check=False).returncode)
    print(f"listening on {url}", flush=True)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        pass


main()
