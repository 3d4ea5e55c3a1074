import { spawn } from "node:child_process";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { parsePolicy } from "../dist/index.js";
import { processRunner } from "../dist/runners/process/runner.js";
import { Codecell } from "../dist/sessions/codecell.js";
import { interleave, ms, row, timed } from "./harness.js";

const launcher = fileURLToPath(new URL("../bin/codecell.js", import.meta.url));
const spacingMs = 4;

/** Compares a run over MCP with the same run through the library, and measures a client that only lists the tools. */
export async function mcp() {
  const stateDir = await mkdtemp(join(tmpdir(), "codecell-bench-"));
  await chmod(stateDir, 0o711); // if we are root, cells run as another user and must be able to enter
  try {
    return [...(await overStdio(stateDir)), ...(await probe(stateDir))];
  } finally {
    await rm(stateDir, { recursive: true, force: true });
  }
}

async function overStdio(stateDir) {
  const manager = await Codecell.open({ policy: parsePolicy({}), runners: [processRunner()], stateDir });
  const server = await connected([launcher, "mcp", "--runner", "process", "--state-dir", stateDir]);
  const echo = await connected([fileURLToPath(new URL("mcp-echo.js", import.meta.url))]);
  try {
    const session = await manager.session();
    const call = (client) => client.callTool({ name: "run_python", arguments: { code: "1+1" } });
    const spaced = async (work) => {
      await pause(spacingMs);
      return timed(work);
    };
    const variants = {
      library: () => spaced(async () => session.run("1+1")),
      echo: () => spaced(() => call(echo)),
      mcp: () => spaced(() => call(server)),
    };
    await interleave(variants, 50); // warm-up
    const figures = await interleave(variants, 300);
    const detail = `${ms(figures.mcp)} / ${ms(figures.library)}; a tool that does nothing takes ${ms(figures.echo)}`;
    return [row("run_python over stdio MCP / the library", figures.mcp / figures.library, { atMost: 3 }, detail)];
  } finally {
    await Promise.all([server.close(), echo.close()]);
    await manager[Symbol.asyncDispose]();
  }
}

async function connected(args) {
  const client = new Client({ name: "bench", version: "1" }, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
  await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: "inherit" }));
  return client;
}

/** From the start of the process to its exit: connect, list the tools, disconnect. */
async function probe(stateDir) {
  const figures = await interleave(
    {
      node: () => timed(() => ended(spawn(process.execPath, ["-e", "0"]))),
      probe: () => timed(() => connectListDisconnect([launcher, "mcp", "--state-dir", stateDir])),
    },
    15,
  );
  const added = figures.probe - figures.node;
  const detail = `${ms(figures.probe)}, of which ${ms(figures.node)} is Node itself`;
  return [row("MCP probe over a bare Node, ms", added, { atMost: 300 }, detail)];
}

async function connectListDisconnect(args) {
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  const clientInfo = { name: "bench", version: "1" };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  let text = "";
  child.stdout.on("data", (bytes) => {
    text += bytes;
    const answers = text.split("\n").length - 1;
    if (answers === 1) send({ id: 2, method: "tools/list" });
    if (answers === 2) child.stdin.end();
  });
  send({ id: 1, method: "initialize", params });
  await ended(child);
}

function ended(child) {
  return new Promise((resolve) => child.once("exit", resolve));
}
