import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findProcMasks } from "./proc-masks.ts";

let proc: string;
beforeEach(async () => {
  proc = await mkdtemp(join(tmpdir(), "proc-masks-test-"));
});
afterEach(() => rm(proc, { recursive: true, force: true }));

test("findProcMasks masks only paths that exist and are open to others", async () => {
  await file("keys", 0o444);
  await file("mtrr", 0o602);
  await file("timer_list", 0o400);
  await file("meminfo", 0o444);
  await directory("acpi", 0o555);
  await directory("scsi", 0o500);
  expect(await findProcMasks(proc)).toEqual({ files: ["/proc/keys", "/proc/mtrr"], directories: ["/proc/acpi"] });
});

test("findProcMasks finds nothing to mask without /proc", async () => {
  expect(await findProcMasks(join(proc, "absent"))).toEqual({ files: [], directories: [] });
});

async function file(name: string, mode: number): Promise<void> {
  await writeFile(join(proc, name), "");
  await chmod(join(proc, name), mode);
}

async function directory(name: string, mode: number): Promise<void> {
  await mkdir(join(proc, name));
  await chmod(join(proc, name), mode);
}
