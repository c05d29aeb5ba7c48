import "vitest";

/** A server to audit: a command as a list of words, or the options of `healbench audit`. */
export type Server =
  | string[]
  | { command?: string[]; url?: string; calls?: string; fixture?: string; tools?: string[]; env?: string[]; args?: string[] };

export interface Tool {
  name: string;
  /** From 0 to 100; null if no call could be scored. */
  score: number | null;
}

export interface Finding {
  id: string;
  severity: "error" | "warning" | "info";
  /** Null if it is about the server. */
  tool: string | null;
  count: number;
  example: string;
}

/** A text of refusals, with what it lacks. */
export interface Text {
  tool: string;
  arguments: unknown;
  example: string;
  lacks: string[];
  score: number | null;
  tokens: number;
  formats: { format: string; tokens: number; text: string }[];
}

/** The report of `healbench audit --output json`; `healbench schema audit` describes all of it. */
export interface Report {
  format: string;
  server: { name: string | null; version: string | null; revision: string };
  /** From 0 to 100; null if no call could be scored. */
  score: number | null;
  tools: Tool[];
  templates: Text[];
  findings: Finding[];
  notes: string[];
  [key: string]: unknown;
}

/** Audits a server. Rejects if it cannot be audited. */
export function audit(server: Server): Promise<Report>;

interface Matchers<R = unknown> {
  /** Fails if the score of a server, or of a report of `audit`, is below `score` (80), or unknown. Asynchronous. */
  toHelpAgentsRecover(options?: { score?: number }): Promise<R>;
}

declare module "vitest" {
  // eslint-disable-next-line @typescript-eslint/no-empty-object-type, @typescript-eslint/no-explicit-any
  interface Assertion<T = any> extends Matchers<T> {}
  interface AsymmetricMatchersContaining extends Matchers {}
}
