import { spawn } from "node:child_process";

const keptBytes = 64 * 1024;

/**
 * Runs a command with all its output, and ends its whole process group when its time is over.
 * @param {readonly string[]} command
 * @param {{ cwd: string, limitSeconds: number, env?: Record<string, string> }} options
 * @returns {Promise<{ code: number | null, isLate: boolean, output: string }>} the end of its output
 */
export function runCommand([program, ...argv], { cwd, limitSeconds, env = {} }) {
  return new Promise((resolve) => {
    const file = program === "node" ? process.execPath : program;
    const stdio = ["ignore", "pipe", "pipe"];
    const child = spawn(file, argv, { cwd, stdio, detached: true, env: { ...process.env, ...env } });
    let output = Buffer.alloc(0);
    let isLate = false;
    const keep = (bytes) => {
      output = Buffer.concat([output, bytes]).subarray(-keptBytes);
    };
    const end = (signal) => {
      try {
        process.kill(-child.pid, signal);
      } catch {
        // it has exited
      }
    };
    const timer = setTimeout(() => {
      isLate = true;
      end("SIGTERM");
      setTimeout(() => end("SIGKILL"), 10_000).unref();
    }, limitSeconds * 1000);
    const stop = (signal) => {
      end(signal);
      process.exitCode = 130;
    };
    const settle = (code) => {
      clearTimeout(timer);
      process.off("SIGINT", stop).off("SIGTERM", stop);
      resolve({ code, isLate, output: output.toString() });
    };
    process.on("SIGINT", stop).on("SIGTERM", stop);
    child.stdout.on("data", keep);
    child.stderr.on("data", keep);
    child.on("error", (error) => {
      keep(Buffer.from(error.message));
      settle(null);
    });
    child.on("close", settle);
  });
}

/**
 * Asks one part.
 * @param {import("./parts.js").Part} part
 * @param {{ cwd: string, run?: typeof runCommand, now?: () => number }} options
 * @returns {Promise<import("./report.js").Row>}
 */
export async function runPart(part, { cwd, run = runCommand, now = () => performance.now() }) {
  const { name, asks, command, limitSeconds, env, needs } = part;
  const began = now();
  const row = (status, detail) => ({
    name,
    asks,
    command: command.join(" "),
    status,
    seconds: seconds(now() - began),
    detail,
  });
  if (needs) {
    const { code, output } = await run(needs.help, { cwd, limitSeconds: 60 });
    if (code !== 0 || !output.includes(needs.text)) return row("missing", `there is no ${command.join(" ")} yet`);
  }
  const { code, isLate, output } = await run(command, { cwd, limitSeconds, ...(env ? { env } : {}) });
  if (isLate) return row("timed out", `it took longer than ${limitSeconds} s\n${lastLines(output)}`);
  return row(code === 0 ? "passed" : "failed", code === 0 ? "" : `it exited with ${code}\n${lastLines(output)}`);
}

function seconds(ms) {
  return Math.round(ms / 100) / 10;
}

function lastLines(output) {
  return output.trimEnd().split("\n").slice(-40).join("\n");
}
