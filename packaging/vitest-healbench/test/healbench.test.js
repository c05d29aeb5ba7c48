// Needs `healbench`: as $HEALBENCH, as the package, or on the path.
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { audit } from "vitest-healbench";

// Two tools. One is refused with a text that says all, and the other with one that says nothing.
const SERVER = `
const text = { inputSchema: { type: "object", properties: { id: { type: "string", examples: ["a"] } }, required: ["id"] } };
const tools = ["says", "mutters"].map((name) => ({ name, ...text, annotations: { readOnlyHint: true } }));
const call = ({ name, arguments: { id } }) => {
  if (typeof id === "string") return { content: [{ type: "text", text: "found " + id }] };
  const all = "id: expected string, received " + (id === undefined ? "undefined" : typeof id);
  return { content: [{ type: "text", text: name === "says" ? all : "No\\u001b[31m" }], isError: true };
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
`;
const folder = mkdtempSync(join(tmpdir(), "vitest-healbench-"));
const server = join(folder, "server.cjs");
writeFileSync(server, SERVER);

describe("a server", { timeout: 60_000 }, () => {
  test("is judged by its score", async () => {
    const report = await audit(["node", server]);
    const of = (name) => report.tools.find((tool) => tool.name === name).score;
    expect(of("mutters")).toBeLessThan(report.score);
    await expect(report).toHelpAgentsRecover({ score: report.score });
    await expect(report).not.toHelpAgentsRecover({ score: report.score + 0.1 });
    await expect({ command: ["node", server], tools: ["says"] }).toHelpAgentsRecover({ score: of("says") });
  });

  test("that is worse fails with what its texts lack", async () => {
    const failure = await expect(["node", server]).toHelpAgentsRecover({ score: 99.5 }).catch((error) => error.message);
    expect(failure).toMatch(/^"two" scores [0-9.]+; at least 99.5 is expected\n/);
    expect(failure).toContain('    answers "No\\u001b[31m"\n    lacks the field, what would be right');
    expect(failure).not.toContain("\u001b");
  });

  test("without a score is neither good nor bad", async () => {
    const quiet = join(folder, "quiet.cjs");
    writeFileSync(quiet, SERVER.replace("readOnlyHint: true", "readOnlyHint: false"));
    const report = await audit(["node", quiet]);
    expect(report.score).toBeNull();
    await expect(expect(report).toHelpAgentsRecover({ score: 0 })).rejects.toThrow("has no score");
    await expect(expect(report).not.toHelpAgentsRecover({ score: 0 })).rejects.toThrow("has no score");
    const lost = join(folder, "lost.cjs");
    writeFileSync(lost, SERVER.replace('typeof id === "string"', "false").replace('name === "says" ? all : "No', '"no network'));
    const reason = '0 of 10 calls reached a tool: "no network';
    await expect(expect(["node", lost]).toHelpAgentsRecover({ score: 0 })).rejects.toThrow(reason);
  });

  test("that does not start is told", async () => {
    await expect(audit(["no-such-server"])).rejects.toThrow("cannot be started");
    await expect(audit({ command: ["node", server], tools: ["sayz"] })).rejects.toThrow("has no tool `sayz`");
  });

  test("needs a program", async () => {
    const before = process.env.HEALBENCH;
    process.env.HEALBENCH = join(folder, "none");
    try {
      await expect(audit(["node", server])).rejects.toThrow("name the program as $HEALBENCH (ENOENT)");
    } finally {
      if (before === undefined) delete process.env.HEALBENCH;
      else process.env.HEALBENCH = before;
    }
  });
});
