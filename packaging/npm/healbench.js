#!/usr/bin/env node
// Starts the program of the package for this platform, which npm installs as an optional dependency.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const platforms = require("./platforms.json");

function platform() {
  const { platform, arch } = process;
  if (platform !== "linux") return `${platform} ${arch}`;
  const glibc = process.report.getReport().header.glibcVersionRuntime;
  return `linux ${arch} ${glibc ? "glibc" : "musl"}`;
}

function program() {
  const name = platform();
  const known = platforms[name];
  if (!known) {
    throw new Error(`there is no package for ${name}; build the program with cargo`);
  }
  const file = process.platform === "win32" ? "healbench.exe" : "healbench";
  try {
    return require.resolve(`${known.package}/${file}`);
  } catch {
    throw new Error(`${known.package} is not installed; install again without \`--omit=optional\``);
  }
}

let file;
try {
  file = program();
} catch (error) {
  console.error(`error: ${error.message}`);
  process.exit(2);
}
const child = spawn(file, process.argv.slice(2), { stdio: "inherit" });
// A terminal sends Ctrl-C to both; other signals are passed on.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) {
  if (process.platform !== "win32") process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`error: ${file} cannot be started: ${error.message}`);
  process.exit(2);
});
child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
