import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { launcher, root, stateHome } from "./codecell-process.ts";

const mebibyte = 1024 * 1024;
/** Much more than the garbage of buffers that stays for a while on a busy machine, which was seen to be up to 54 MB. */
const printedBytes = 150 * 1_000_000;

/** Prints in lines of 1,000 bytes, then reports on stderr that everything is printed. */
const program = (bytes: number) => `
import sys
for n in range(${bytes / 1000}): print("x" * 999)
sys.stdout.flush()
print("all printed", file=sys.stderr)
`;

/** Runs a program whose reader takes nothing before everything is printed. */
async function readLate(bytes: number) {
  const child = spawn(
    process.execPath,
    [launcher, "run", "-c", program(bytes), "--timeout", "2m", "--output-limit", "256MiB"],
    {
      cwd: root,
      env: { ...process.env, XDG_STATE_HOME: stateHome },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  const closed = new Promise<number | null>((resolve) => child.on("close", resolve));
  let stderr = "";
  await new Promise<void>((resolve) => {
    child.stderr.on("data", (piece) => {
      stderr += piece;
      if (stderr.includes("all printed")) resolve();
    });
  });
  const [, peak] = /VmHWM:\s*(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8")) ?? [];
  let read = 0;
  child.stdout.on("data", (piece: Buffer) => {
    read += piece.length;
  });
  return { code: await closed, read, stderr, peakBytes: Number(peak) * 1024 };
}

describe.skipIf(process.platform !== "linux")("codecell run into a pipe that nobody reads yet", () => {
  test("loses nothing, and does not keep the output in memory", async () => {
    // More than a pipe holds, so that the process is still running when its memory is read.
    const little = await readLate(mebibyte - (mebibyte % 1000));
    const much = await readLate(printedBytes);
    expect(much).toMatchObject({ code: 0, read: printedBytes, stderr: "all printed\n" });
    // Output kept in memory would take all of it, and more.
    expect(much.peakBytes - little.peakBytes).toBeLessThan(printedBytes * 0.6);
  }, 120_000);
});
