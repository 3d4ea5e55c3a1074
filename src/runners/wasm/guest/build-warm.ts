/** Entry that creates the snapshot and the code caches, once per runtime directory, with the flags of cells. */
import { writeFileSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { hostFunctions } from "./host-functions.ts";
import { createTail, OutputTail } from "./output-tail.ts";
import { openRealm, snapshotFile } from "./realm.ts";
import { createRing, OutputCounters, RingWriter } from "./ring.ts";

const target = process.argv[2] ?? "";
const { memoryPages } = JSON.parse(process.argv[3] ?? "{}") as { memoryPages: number };
const ring = createRing();
const died = (reason: string) => {
  writeSync(2, `the interpreter crashed: ${reason}\n`);
  process.exit(1);
};
const output = { ring: new RingWriter(ring, () => {}), counters: new OutputCounters(ring) };
const input = { read: () => 0, nextAnswer: () => undefined, takeAnswer() {} };
const host = hostFunctions({ ...output, tail: new OutputTail(createTail()), died, ...input });
const runtime = dirname(dirname(fileURLToPath(import.meta.url)));
const limits = { memoryPages, diskBytes: 0, openFiles: 0 }; // cells set their own limits when they attach
const realm = openRealm(host, { runtime, ...limits, usesSnapshot: false, makesSnapshot: true });
const problem = await realm.inner.load();
if (problem !== "") died(problem);
writeFileSync(`${target}/${snapshotFile}`, realm.inner.snapshot(), { mode: 0o644 });
// After the start, so that the cache contains the functions that a start compiles.
for (const [name, code] of realm.codeCaches()) writeFileSync(`${target}/${name}.cache`, code, { mode: 0o644 });
process.exit(0);
