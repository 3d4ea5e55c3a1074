import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { attacks } from "../../src/attacks/catalogue/index.ts";
import { AttackHost } from "../../src/attacks/host/attack-host.ts";
import { defaultImage } from "../../src/runners/container/image/default-image.ts";
import { engineClient } from "../support/container-engines.ts";
import { type ControlResult, runControls, weaknessOf } from "../support/run-controls.ts";
import { engineFor } from "./context.ts";

const docker = engineFor("container");
const { mountable } = inject("containers");
/** `ATTACK_CONTROLS=all` also lets bombs explode in a container without limits, which takes minutes on a busy machine. */
const isLong = process.env.ATTACK_CONTROLS === "all";
const weaknesses = [...new Set(attacks.flatMap((attack) => weaknessOf(attack) ?? []))].filter(isTried);

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

function isTried(weakness: string | undefined): boolean {
  return isLong || weakness !== "no-limits";
}

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
      const fitting = attacks.filter((attack) => weaknessOf(attack) === weakness);
      for (const result of await runControls(client, defaultImage(), weakness, host, fitting)) {
        results.set(result.attack.id, result);
      }
    }
  });
  afterAll(() => host?.[Symbol.asyncDispose]());

  const controlled = attacks.filter((attack) => weaknessOf(attack) !== undefined && !(attack.id in dependsOnMachine));
  test.skip.each(controlled.filter((attack) => !isTried(weaknessOf(attack))).map(({ title }) => [title]))(
    "in a container without limits, a program that %s (with ATTACK_CONTROLS=all)",
    () => {},
  );
  test.each(
    controlled
      .filter((attack) => isTried(weaknessOf(attack)))
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
