import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

/** A process that repeats an attack until it is disposed. `body` is JavaScript with `fs`, `args` and `pause`. */
export async function startSwapper(body: string, args: readonly string[]): Promise<AsyncDisposable> {
  const script = `
    const fs = require("node:fs");
    const args = process.argv.slice(1);
    process.stdin.resume().on("end", () => process.exit());
    const cell = new Int32Array(new SharedArrayBuffer(4));
    const pause = () => Atomics.wait(cell, 0, 0, Math.random());
    const step = () => {
      for (let round = 0; round < 50; round++) { ${body} }
      setImmediate(step);
    };
    step();
    process.stdout.write("ready");
  `;
  const child: ChildProcess = spawn(process.execPath, ["-e", script, ...args], { stdio: ["pipe", "pipe", "inherit"] });
  if (child.stdout) await once(child.stdout, "data");
  return {
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null) throw new Error("the swapper ended before the test did");
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    },
  };
}
