import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readHostFacts } from "./host-facts.ts";
import type { BubblewrapProbe } from "./probe.ts";
import { RememberedProbe, rememberMs } from "./remembered-probe.ts";

const { bubblewrap } = await readHostFacts();
const success = {
  ...{ available: true, path: bubblewrap ?? "", version: "1.2.3" },
  layouts: { template: true, direct: false },
  mapsUsers: true,
} as const satisfies BubblewrapProbe;
const known = { version: "1.2.3", mapsUsers: true };
const failure: BubblewrapProbe = { available: false, reason: "broken", hint: "fix it" };

let runtimeDir: string;
let file: string;
beforeEach(async () => {
  runtimeDir = await mkdtemp(join(tmpdir(), "remembered-probe-"));
  file = join(runtimeDir, "remembered-bubblewrap.json");
});
afterEach(() => rm(runtimeDir, { recursive: true, force: true }));

/** A new process, whose trial has this result. */
function prober(result: BubblewrapProbe) {
  const asked = { times: 0 };
  const probe = async () => {
    asked.times++;
    return result;
  };
  return { asked, prober: new RememberedProbe({ runtimeDir, probe }) };
}

/** Remembering is not awaited by a start. */
const written = () => expect.poll(() => readFile(file, "utf8").catch(() => "")).toContain("1.2.3");

describe.skipIf(bubblewrap === undefined)("a remembered probe", () => {
  test("saves the next process the trial", async () => {
    expect(await prober(success).prober.find(100)).toEqual(success);
    await written();
    const next = prober(failure);
    expect(await next.prober.find(100)).toEqual({ ...success, isRemembered: true });
    expect(next.asked.times).toBe(0);
  });

  test("never remembers a failure, and a failure removes what was remembered", async () => {
    await prober(success).prober.find(100);
    await written();
    expect(await prober(failure).prober.findAgain(100)).toEqual(failure);
    expect(await prober(failure).prober.find(100)).toEqual(failure);
    expect(await prober(success).prober.find(100)).toEqual(success);
    await written(); // or it would be written while the directory is removed
  });

  test("is checked again in the background after a minute", async () => {
    await prober(success).prober.find(100);
    await written();
    await edited((stored) => ({ ...stored, at: Date.now() - rememberMs.recheck - 1000 }));
    const next = prober(failure);
    expect(await next.prober.find(100)).toMatchObject({ isRemembered: true });
    await expect.poll(() => readFile(file, "utf8").catch(() => "gone")).toBe("gone");
    expect(next.asked.times).toBe(1);
  });

  test.each([
    ["of another machine or bubblewrap", { key: "other" }],
    ["that is too old", { at: Date.now() - rememberMs.keep - 1000 }],
    ["that names another program", { value: { ...known, layouts: success.layouts, path: "/tmp/evil" } }],
    ["without a working layout", { value: { ...known, layouts: { template: false, direct: false } } }],
  ])("ignores a memory %s", async (_, change) => {
    await prober(success).prober.find(100);
    await written();
    await edited((stored) => ({ ...stored, ...change }));
    expect(await prober(failure).prober.find(100)).toEqual(failure);
  });
});

async function edited(change: (stored: object) => object): Promise<void> {
  await writeFile(file, JSON.stringify(change(JSON.parse(await readFile(file, "utf8")))));
}
