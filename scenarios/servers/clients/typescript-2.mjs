// Plays the calls of a plan with the client of the TypeScript SDK, version 2, and prints what it shows of each answer.
//
// usage: node typescript-2.mjs PLAN COMMAND...
import { readFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { play } from "./play.mjs";

const [plan, command, ...args] = process.argv.slice(2);
const { dir, calls } = JSON.parse(readFileSync(plan, "utf8"));
const client = new Client(
  { name: "typescript-2", version: "1" },
  { capabilities: { sampling: {}, elicitation: {}, roots: { listChanged: true } } },
);
client.setRequestHandler("roots/list", () => ({ roots: [{ uri: `file://${dir}`, name: "dir" }] }));
client.setRequestHandler("sampling/createMessage", () => ({
  model: "none",
  role: "assistant",
  content: { type: "text", text: "none" },
}));
client.setRequestHandler("elicitation/create", () => ({ action: "decline" }));
await client.connect(new StdioClientTransport({ command, args, stderr: "ignore" }));
await play(client, calls, (name, arguments_) => client.callTool({ name, arguments: arguments_ }));
