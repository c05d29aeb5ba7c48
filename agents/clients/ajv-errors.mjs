// Fills in the errors of Ajv for the pairs of ajv-errors.json: the first one as qwen-code asks for it, and all of them as the TypeScript
// SDK does. Pairs that Ajv accepts are an error. Ajv is the one of scenarios/servers (tools/servers.sh).
//
// usage: node agents/clients/ajv-errors.mjs

import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(process.env.AJV ?? new URL("../../scenarios/servers/package.json", import.meta.url));
const { Ajv } = require("ajv");
const addFormats = require("ajv-formats").default;

const first = addFormats(new Ajv({ strictSchema: false, strictTypes: false, logger: false }));
const all = addFormats(new Ajv({ strict: false, allErrors: true, validateSchema: false, logger: false }));
const texts = (ajv, { schema, value }, dataVar) => {
    const validate = ajv.compile(schema);
    return validate(value) ? "" : ajv.errorsText(validate.errors, { dataVar });
};

const file = new URL("ajv-errors.json", import.meta.url);
const lines = JSON.parse(readFileSync(file, "utf8")).map((pair) => {
    const { schema, value } = pair;
    const found = { first: texts(first, pair, "params"), all: texts(all, pair, "data") };
    const validate = all.compile(schema);
    validate(value);
    const keywords = [...new Set((validate.errors ?? []).map((error) => error.keyword))];
    return JSON.stringify({ schema, value, keywords, ...found });
});
writeFileSync(file, `[\n${lines.join(",\n")}\n]\n`);
