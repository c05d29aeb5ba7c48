// A matcher that audits an MCP server with `healbench` and judges what its errors tell a reader.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { expect } from "vitest";

// The texts that a failure shows.
const WORST = 3;

/** Returns the words that start healbench: $HEALBENCH, else the package `healbench`, else the program on the path. */
function program() {
  if (process.env.HEALBENCH) return [process.env.HEALBENCH];
  try {
    return [process.execPath, createRequire(join(process.cwd(), "package.json")).resolve("healbench/healbench.js")];
  } catch {
    return ["healbench"];
  }
}

/** Audits a server: a command as a list of words, or `{ command, url, calls, fixture, tools, env, args }`. Returns the report. */
export async function audit(server) {
  const { command = [], url, calls, fixture, tools = [], env = [], args = [] } = Array.isArray(server) ? { command: server } : server;
  const words = [...program(), "audit", "--output", "json"];
  if (calls) words.push(`--calls=${calls}`);
  if (fixture) words.push(`--fixture=${fixture}`);
  words.push(...tools.map((tool) => `--tool=${tool}`), ...env.map((name) => `--env=${name}`), ...args);
  words.push(...(url ? [`--url=${url}`] : ["--", ...command]));
  const { code, out, err } = await run(words);
  // 1 and 2 are exit codes of audits too; without a report nothing was audited.
  if (![0, 1, 2].includes(code) || !out) throw new Error(`\`${words.join(" ")}\` ended with ${code}: ${err.trim()}`);
  const report = JSON.parse(out);
  if (!isReport(report)) throw new Error(`\`${words[0]}\` wrote no audit`);
  return report;
}

function run([file, ...words]) {
  return new Promise((resolve, reject) => {
    const child = spawn(file, words, { stdio: ["ignore", "pipe", "pipe"] });
    const parts = { stdout: [], stderr: [] };
    for (const name of ["stdout", "stderr"]) child[name].on("data", (part) => parts[name].push(part));
    const text = (name) => Buffer.concat(parts[name]).toString("utf8");
    child.on("error", (error) =>
      reject(new Error(`\`${file}\` cannot be started: install healbench, or name the program as $HEALBENCH (${error.code})`)),
    );
    child.on("close", (code, signal) => resolve({ code: code ?? signal, out: text("stdout"), err: text("stderr") }));
  });
}

const isReport = (value) => typeof value?.format === "string" && value.format.startsWith("audit-score/");

/** Returns JSON in which nothing is invisible. */
const printable = (json) => json.replace(/[\u007f-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** Returns text of a server in one line, in quotation marks. */
const quoted = (text) => printable(JSON.stringify(text && text.length > 300 ? `${text.slice(0, 300)}…` : (text ?? null)));

/** Returns the score, those of the tools, and the worst texts with what they lack. */
function describe(report, wanted) {
  const name = quoted(report.server.name ?? "the server");
  const score = report.score === null ? "has no score, since no call could be scored" : `scores ${report.score.toFixed(1)}`;
  const lines = [`${name} ${score}; ${wanted}`];
  const known = report.tools.filter((tool) => tool.score !== null).sort((a, b) => a.score - b.score);
  lines.push(...known.map((tool) => `  ${tool.score.toFixed(1).padStart(5)}  ${quoted(tool.name)}`));
  const lacking = report.templates.filter((text) => text.lacks.length > 0);
  for (const text of lacking.slice(0, WORST)) {
    lines.push(`  ${quoted(text.tool)} ${printable(JSON.stringify(text.arguments))}`);
    lines.push(`    answers ${quoted(text.example)}`, `    lacks ${text.lacks.join(", ")}`);
  }
  if (lacking.length > WORST) lines.push(`  and ${lacking.length - WORST} more texts that lack something`);
  const lost = report.environment;
  if (lost) lines.push(`  ${lost.reached} of ${lost.calls} calls reached a tool: ${quoted(lost.reason)}`);
  if (report.score === null) lines.push(...report.notes.map((note) => `  ${quoted(note)}`));
  return lines.join("\n");
}

expect.extend({
  /** Fails if the score of a server, or of a report of `audit`, is below `score`, or unknown. */
  async toHelpAgentsRecover(received, { score = 80 } = {}) {
    const report = isReport(received) ? received : await audit(received);
    const wanted = this.isNot ? `less than ${score} is expected` : `at least ${score} is expected`;
    // Of what is unknown nothing is true, nor the opposite.
    const pass = report.score === null ? this.isNot : report.score >= score;
    return { pass, message: () => describe(report, wanted), actual: report.score, expected: score };
  },
});
