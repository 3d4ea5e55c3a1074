import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { listChains } from "../../src/audit/chain/chain-files.ts";
import { readAudit } from "../../src/audit/read.ts";
import { verifyAudit } from "../../src/audit/verify.ts";
import { newAuditDir, writeEvents } from "../support/audit-logs.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

let place: Awaited<ReturnType<typeof newAuditDir>>;
const children: ChildProcess[] = [];
beforeEach(async () => {
  place = await newAuditDir();
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  await place[Symbol.asyncDispose]();
});

/** A process that writes as fast as it can and reports each event that is durable on disk. */
function writer(name: string): ChildProcess {
  const program = `
    import { AuditLog } from ${JSON.stringify(join(root, "dist/audit/log.js"))};
    const log = new AuditLog({ dir: ${JSON.stringify(place.path)}, durable: true, keepBytes: 2 ** 30, keepMs: 1e9, fileBytes: 20000 });
    for (let n = 0; ; n++) {
      for (let i = 0; i < 5; i++) log.record({ type: "session.checkpoint", session: ${JSON.stringify(name)}, name: n + "." + i });
      await log.settled();
      process.stdout.write(n + "\\n");
    }`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  return child;
}

test("confirmed audit events survive kill -9, and the chain is valid and continues", async () => {
  for (let round = 0; round < 4; round++) {
    const child = writer(`round-${round}`);
    let said = "";
    child.stdout?.on("data", (text) => {
      said += text;
    });
    while (said.split("\n").length < 8 + 5 * round) await once(child.stdout ?? child, "data");
    child.kill("SIGKILL");
    await once(child, "close");
    const settled = Number(said.trimEnd().split("\n").at(-1));
    const names: unknown[] = [];
    for await (const { event } of readAudit(place.path, { session: `round-${round}` })) names.push(event.name);
    expect(names).toContain(`${settled}.4`);
  }
  await writeEvents(place.path, ["after"]);
  const { isSound, chains, problems } = await verifyAudit(place.path);
  expect(problems).toEqual([]);
  expect(isSound).toBe(true);
  expect(chains).toHaveLength(1);
});

test("an audit chain whose writers are killed while writing long lines has at most torn lines, each sealed", async () => {
  const program = `
    import { AuditLog } from ${JSON.stringify(join(root, "dist/audit/log.js"))};
    const log = new AuditLog({ dir: ${JSON.stringify(place.path)}, durable: false, keepBytes: 2 ** 30, keepMs: 1e9 });
    const name = "x".repeat(2 ** 20);
    // Wait for the chain: if the first writer is killed while it creates one, the next writer starts another.
    log.record({ type: "session.checkpoint", session: "long", name: "first" });
    await log.settled();
    for (;;) {
      for (let n = 0; n < 6; n++) log.record({ type: "session.checkpoint", session: "long", name });
      process.stdout.write("x");
      await new Promise((resolve) => setTimeout(resolve, 11));
    }`;
  const rounds = 6;
  for (let round = 0; round < rounds; round++) {
    const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    children.push(child);
    for (let said = 0; said <= round + 1; said++) await once(child.stdout, "data");
    child.kill("SIGKILL");
    await once(child, "close");
  }
  await writeEvents(place.path, ["after"]);
  const { problems, chains } = await verifyAudit(place.path);
  expect(problems).toEqual([]);
  expect(chains).toHaveLength(1);
  expect(chains[0]?.tornParts).toBeLessThanOrEqual(rounds);
});

test("processes that write audit events at the same time never share a chain", async () => {
  const writers = ["a", "b", "c"].map(writer);
  await Promise.all(writers.map(({ stdout }) => once(stdout ?? process.stdin, "data")));
  expect(await listChains(place.path)).toHaveLength(3);
  const { isSound, chains } = await verifyAudit(place.path);
  expect(isSound).toBe(true);
  expect(chains.every(({ isLive }) => isLive)).toBe(true);
  for (const child of writers) child.kill("SIGKILL");
  await Promise.all(writers.map((child) => once(child, "close")));
});
