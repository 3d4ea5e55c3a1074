import { existsSync, readFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { codecellHere } from "./codecell-here.ts";
import { availableRunners, CodecellProcess, codecell, launcher, living } from "./codecell-process.ts";

const runners = await availableRunners();
const hasProcess = runners.includes("process");
const hasWasm = runners.includes("wasm");
const attack = (...argv: string[]) => codecell(["doctor", "--attack", ...argv]);

interface Scorecard {
  readonly verdict: string;
  readonly attacks: readonly { id: string; kind: string; title: string }[];
  readonly tiers: readonly {
    name: string;
    available: boolean;
    contained: number;
    not_tried: number;
    results: readonly { id: string; verdict: string; detail: string; duration_ms: number }[];
  }[];
}

/** The directories of one run of the suite. */
function placesOf(tag: string): string[] {
  const parents = [tmpdir(), homedir(), "/var/tmp", "/dev/shm", "/run"];
  return parents.map((parent) => join(parent, `codecell-attack-${tag}`)).filter((place) => existsSync(place));
}

/** Its tag is in the command line of the process that it starts as a target. */
function tagIn(processes: readonly string[]): string | undefined {
  const commands = processes.map((one) => {
    try {
      return readFileSync(`/proc/${one.split("/")[0]}/cmdline`, "utf8");
    } catch {
      return ""; // it has exited
    }
  });
  return /codecell-attack-target-(m[0-9a-f]{12})/.exec(commands.join(" "))?.[1];
}

/** The command in the middle of its attacks. */
async function attacking(runner: string): Promise<{ one: CodecellProcess; cells: string[]; tag: string }> {
  const one = new CodecellProcess(launcher, ["doctor", "--attack", "--runner", runner]);
  await one.printed(`attacking ${runner}`);
  await expect.poll(() => one.descendants().length).toBeGreaterThan(2); // the target, a sandbox, a cell
  const cells = one.descendants();
  return { one, cells, tag: tagIn(cells) ?? "none" };
}

describe.skipIf(!hasProcess)("doctor --attack on the process runner", () => {
  test("prints each attack with what contained it, and exits with 0", async () => {
    const { code, stdout, stderr } = await attack("--runner", "process", "--only", "network/*");
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining("codecell: attacking process …\n") });
    expect(stdout).toMatch(/^network\/host-loopback +contained +network namespace without a link$/m);
    expect(stdout).toMatch(/^tier +escape +exfiltration +contained +harmed +failed +not tried +time$/m);
    expect(stdout).toMatch(/^All \d+ attacks that were tried were contained: process$/m);
  });

  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("leaves no process and no directory after %s", async (signal, expected) => {
    const { one, cells, tag } = await attacking("process");
    expect(placesOf(tag).length).toBeGreaterThan(1);
    process.kill(-one.pid, signal); // the whole process group, as a terminal does
    expect((await one.finished).code).toBe(expected);
    await expect.poll(() => living(cells)).toEqual([]);
    expect(placesOf(tag)).toEqual([]);
  });

  test("leaves no process after SIGKILL, and its next start removes the directories", async () => {
    const { one, tag } = await attacking("process");
    process.kill(one.pid, "SIGSTOP"); // so that it starts nothing more, and all that it has started is known
    const started = one.descendants();
    process.kill(one.pid, "SIGKILL");
    await one.finished;
    await expect.poll(() => living(started)).toEqual([]);
    expect(tag).not.toBe("none");
    expect((await attack("--runner", "process", "--only", "network/vsock")).code).toBe(0);
    expect(placesOf(tag)).toEqual([]);
  });
});

test.skipIf(!hasWasm)("doctor --attack --json says what was not tried, and why", async () => {
  const { code, stdout } = await attack("--runner", "wasm", "--json", "--only", "javascript/*", "--only", "network/*");
  const { verdict, attacks, tiers } = JSON.parse(stdout) as Scorecard;
  expect({ code, verdict }).toEqual({ code: 0, verdict: "contained" });
  expect(attacks[0]).toEqual({ id: expect.any(String), kind: expect.any(String), title: expect.any(String) });
  const [wasm] = tiers;
  expect(wasm).toMatchObject({ name: "wasm", available: true });
  expect((wasm?.contained ?? 0) + (wasm?.not_tried ?? 0)).toBe(attacks.length);
  const results = new Map(wasm?.results.map((result) => [result.id, result]));
  expect(results.get("javascript/process")).toMatchObject({ verdict: "contained", detail: expect.any(String) });
  expect(results.get("network/raw-socket")).toMatchObject({
    verdict: "not_tried",
    detail: expect.stringMatching(/.+/),
  });
});

test.each([
  [["doctor", "--attack", "--runner", "proces"], 'unknown runner "proces"', "did you mean process?"],
  [["doctor", "--attack", "--only", "nothing/*"], 'no attack matches "nothing/*"', "network/*"],
  [["doctor", "--only", "network/*"], "--only needs --attack", "codecell help doctor"],
])("codecell %s is a usage error with a hint", async (argv, message, hint) => {
  const { code, stderr } = await codecellHere(argv);
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) });
  expect(stderr).toContain(hint);
});
