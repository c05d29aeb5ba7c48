// Plays the calls of a plan with the client of the TypeScript SDK, version 1, and prints what it shows of each answer.
//
// usage: node typescript-1.mjs PLAN COMMAND...
import { readFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { play } from "./play.mjs";

const [plan, command, ...args] = process.argv.slice(2);
const { dir, calls } = JSON.parse(readFileSync(plan, "utf8"));
const client = new Client(
  { name: "typescript-1", version: "1" },
  { capabilities: { sampling: {}, elicitation: {}, roots: { listChanged: true } } },
);
client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: `file://${dir}`, name: "dir" }] }));
client.setRequestHandler(CreateMessageRequestSchema, () => ({
  model: "none",
  role: "assistant",
  content: { type: "text", text: "none" },
}));
client.setRequestHandler(ElicitRequestSchema, () => ({ action: "decline" }));
await client.connect(new StdioClientTransport({ command, args, stderr: "ignore" }));
await play(client, calls, (name, arguments_) => client.callTool({ name, arguments: arguments_ }));
