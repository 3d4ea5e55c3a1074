import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import type { Attack } from "../../src/attacks/attack.ts";
import { attacks } from "../../src/attacks/catalogue/index.ts";
import { AttackHost } from "../../src/attacks/host/attack-host.ts";
import { defaultImage } from "../../src/runners/container/image/default-image.ts";
import { engineClient } from "../support/container-engines.ts";
import { isRecorded, readControlRecord, writeControlRecord } from "../support/control-record.ts";
import { type ControlResult, runControls, weaknessOf } from "../support/run-controls.ts";
import { engineFor } from "./context.ts";

const docker = engineFor("container");
const { mountable } = inject("containers");
const mode = process.env.ATTACK_CONTROLS;
/**
 * Controls take minutes, and an attack that did harm once does it again as long as its program is the same. So the record has what
 * was shown, and only what changed since is tried, with a few others that show that controls work. `ATTACK_CONTROLS=all` tries
 * everything, also bombs in a container without limits. `ATTACK_CONTROLS=record` adds what is shown now to the record.
 */
const record = readControlRecord();
const samplesOfWeakness = 2;

/** Controls whose harm depends on how the machine of the tests is built. They may show it, and are listed with those that cannot. */
const dependsOnMachine: Readonly<Record<string, string>> = {
  ...each("the Linux kernel of the machine may lack it, or refuse it to its own root", [
    ...["proc/kcore", "proc/modules", "proc/sched-debug", "proc/modprobe", "proc/sysrq", "proc/release-agent"],
    ...["files/memory-device", "linux-kernel/file-handle", "linux-kernel/init-module", "linux-kernel/finit-module"],
    ...["linux-kernel/delete-module", "linux-kernel/kexec", "linux-kernel/iopl", "linux-kernel/ioperm"],
    ...["linux-kernel/lookup-dcookie", "linux-kernel/memfd-secret", "linux-kernel/userfaultfd", "proc/config-gz"],
    ...["proc/timer-list", "mounts/device-node", "processes/memory-of-supervisor"],
  ]),
  ...each("the root of the tests may lack the capability", ["identity/limits", "exhaustion/more-descriptors"]),
  ...each("reading it waits for the next line of the log", ["proc/kmsg"]),
  ...each("nobody can create a file there, whatever the walls", ["files/write-proc"]),
  ...each("a proxy without rules forwards it, and the server itself refuses the request", ["egress/smuggling"]),
  ...each("only a host that leaks descriptors would show it", ["files/inherited-descriptors"]),
  ...each("what they show depends on the names and file systems of the machine", [
    ...["environment/names", "environment/users", "proc/mount-table", "identity/existing-set-user-id"],
  ]),
};

const controlled = attacks.filter((attack) => weaknessOf(attack) !== undefined && !(attack.id in dependsOnMachine));
const weaknesses = [...new Set(controlled.flatMap((attack) => weaknessOf(attack) ?? []))];
const tried = new Set(
  weaknesses.flatMap((weakness) => {
    const fitting = controlled.filter((attack) => weaknessOf(attack) === weakness);
    if (mode === "all") return fitting;
    const samples = weakness === "no-limits" ? [] : fitting.slice(0, samplesOfWeakness);
    return [...samples, ...fitting.filter((attack) => !isRecorded(attack, record))];
  }),
);

function each(reason: string, ids: readonly string[]): Record<string, string> {
  return Object.fromEntries(ids.map((id) => [id, reason]));
}

describe.skipIf(docker === undefined)("without the wall that contains it, an attack does harm:", () => {
  let host: AttackHost;
  const results = new Map<string, ControlResult>();
  beforeAll(async () => {
    host = await AttackHost.open({ directory: mountable });
    const client = await engineClient("docker", docker ?? "");
    for (const weakness of weaknesses) {
      const fitting = [...tried].filter((attack) => weaknessOf(attack) === weakness);
      if (fitting.length === 0) continue;
      for (const result of await runControls(client, defaultImage(), weakness, host, fitting)) {
        results.set(result.attack.id, result);
      }
    }
    if (mode === "record") {
      const isShown = (attack: Attack) => isRecorded(attack, record) || results.get(attack.id)?.isHarmed === true;
      writeControlRecord(controlled.filter(isShown));
    }
  }, 20 * 60_000);
  afterAll(() => host?.[Symbol.asyncDispose]());

  test.skip.each(controlled.filter((attack) => !tried.has(attack)).map(({ title }) => [title]))(
    `without its wall, a program that %s (shown on ${record.shownOn}, unchanged since; ATTACK_CONTROLS=all shows it again)`,
    () => {},
  );
  test.each(
    controlled
      .filter((attack) => tried.has(attack))
      .map((attack) => [weaknessOf(attack), attack.title, attack.id] as const),
  )("in a container with the weakness %s, a program that %s", (_, __, id) => {
    const { isHarmed, detail } = results.get(id) ?? { isHarmed: false, detail: "it was not tried" };
    expect(isHarmed, `${id}: ${detail}`).toBe(true);
  });
});

test("every attack without a control gives its reason", () => {
  const without = attacks.filter(({ id, control }) => "none" in control || id in dependsOnMachine);
  const reasons = without.map(({ id, control }) => `${id}: ${"none" in control ? control.none : dependsOnMachine[id]}`);
  console.info(`${without.length} of ${attacks.length} attacks have no control:\n${reasons.join("\n")}`);
  for (const { control } of without) if ("none" in control) expect(control.none.length).toBeGreaterThan(10);
  const known = new Set(attacks.map(({ id }) => id));
  expect(Object.keys(dependsOnMachine).filter((id) => !known.has(id))).toEqual([]);
  expect(without.length).toBeLessThan(attacks.length / 3);
});
