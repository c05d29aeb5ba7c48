// The server of server.js with texts that say which field is wrong and what would be right. docs/audit-beside.md audits both.
const tickets = { "TCK-2207": "open", "TCK-2208": "resolved" };
const tools = [
  {
    name: "get_ticket",
    description: "Returns a ticket",
    inputSchema: { type: "object", properties: { id: { type: "string", examples: ["TCK-2207"] } }, required: ["id"] },
    annotations: { readOnlyHint: true },
  },
  {
    name: "list_tickets",
    description: "Returns the tickets with a status",
    inputSchema: {
      type: "object",
      properties: { status: { enum: ["open", "resolved"] }, limit: { type: "integer", minimum: 1, maximum: 50 } },
      required: ["status"],
    },
    annotations: { readOnlyHint: true },
  },
];
const received = (value) => (value === undefined ? "it is missing" : `received ${JSON.stringify(value)}`);
const calls = {
  get_ticket: ({ id }) => {
    if (typeof id !== "string") throw new Error(`id: expected string, ${received(id)}`);
    if (!(id in tickets)) throw new Error(`Ticket ${id} not found. Call list_tickets to see the ids.`);
    return { id, status: tickets[id] };
  },
  list_tickets: ({ status, limit = 50 }) => {
    if (!["open", "resolved"].includes(status)) throw new Error(`status: expected one of "open", "resolved", ${received(status)}`);
    if (!Number.isInteger(limit) || limit < 1 || limit > 50) throw new Error(`limit: expected an integer from 1 to 50, ${received(limit)}`);
    return Object.keys(tickets).filter((id) => tickets[id] === status).slice(0, limit);
  },
};
const call = ({ name, arguments: sent }) => {
  try {
    return { content: [{ type: "text", text: JSON.stringify(calls[name](sent)) }] };
  } catch (error) {
    return { content: [{ type: "text", text: error.message }], isError: true };
  }
};
const methods = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "tickets", version: "1.0.0" } }),
  ping: () => ({}),
  "tools/list": () => ({ tools }),
  "tools/call": call,
};
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const answer = methods[method] ? { result: methods[method](params) } : { error: { code: -32601, message: "Method not found" } };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
});
