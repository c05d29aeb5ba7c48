#!/usr/bin/env python3
"""Measures what `healbench proxy` adds to a call, and what its memory grows by.

usage: tools/proxy-speed.py PROGRAM SERVER [ROUNDS]

PROGRAM is healbench, SERVER is mcp-test-server of harness/mcp. Each round makes 200 calls of 2 KB directly, through the proxy, and directly again; the
second direct arm is the control. Printed are the medians over the rounds of the difference to the first direct arm, in milliseconds a call, of the
medians and of the 99th percentiles; then the resident memory of the proxy after 1,000 and after 100,000 calls. Exits 1 if the median is above 1 ms, or
the memory grows by more than 8 MiB.
"""

import json
import statistics
import subprocess
import sys
import time

CALLS = 200
MOST_MS, MOST_GROWTH_MIB = 1.0, 8.0


class Session:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.number = 0
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "speed", "version": "1"}})
        self.ask("tools/list", {})

    def ask(self, method, params):
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def call(self):
        start = time.perf_counter()
        self.ask("tools/call", {"name": "echo", "arguments": {"text": "x" * 2048}})
        return 1000 * (time.perf_counter() - start)

    def resident_mib(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS"))

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def main():
    program, server = sys.argv[1:3]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 30
    proxied = [program, "proxy", "--", server, "ok"]
    arms = [Session([server, "ok"]), Session(proxied), Session([server, "ok"])]
    figures = {"median": ([], []), "99th percentile": ([], [])}
    for _ in range(rounds):
        times = [sorted(session.call() for _ in range(CALLS)) for session in arms]
        for name, at in (("median", CALLS // 2), ("99th percentile", CALLS * 99 // 100)):
            for arm in (1, 2):
                figures[name][arm - 1].append(times[arm][at] - times[0][at])
    for session in arms:
        session.end()
    for name, (proxy, control) in figures.items():
        print(f"{name}: the proxy adds {statistics.median(proxy):.3f} ms, the control {statistics.median(control):.3f} ms")
    session = Session(proxied)
    resident = []
    for calls in (1_000, 99_000):
        for _ in range(calls):
            session.call()
        resident.append(session.resident_mib())
    session.end()
    print(f"resident memory: {resident[0]:.1f} MiB after 1,000 calls, {resident[1]:.1f} MiB after 100,000")
    added = statistics.median(figures["median"][0])
    sys.exit(1 if added > MOST_MS or resident[1] - resident[0] > MOST_GROWTH_MIB else 0)


if len(sys.argv) < 3:
    sys.exit(__doc__)
main()
