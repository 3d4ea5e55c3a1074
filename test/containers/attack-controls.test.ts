import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { attacks } from "../../src/attacks/catalogue/index.ts";
import { AttackHost } from "../../src/attacks/host/attack-host.ts";
import { defaultImage } from "../../src/runners/container/image/default-image.ts";
import { engineClient } from "../support/container-engines.ts";
import { type ControlResult, runControls, weaknessOf } from "../support/run-controls.ts";
import { engineFor } from "./context.ts";

const docker = engineFor("container");
const { mountable } = inject("containers");
const weaknesses = [...new Set(attacks.flatMap((attack) => weaknessOf(attack) ?? []))];

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

  const controlled = attacks.filter((attack) => weaknessOf(attack) !== undefined);
  test.each(controlled.map((attack) => [weaknessOf(attack), attack.title, attack.id] as const))(
    "in a container with the weakness %s, a program that %s",
    (_, __, id) => {
      const { isHarmed, detail } = results.get(id) ?? { isHarmed: false, detail: "it was not tried" };
      expect(isHarmed, `${id}: ${detail}`).toBe(true);
    },
  );
});

test("every attack without a control gives its reason", () => {
  const without = attacks.filter((attack) => weaknessOf(attack) === undefined);
  const reasons = without.map(({ id, control }) => `${id}: ${"none" in control ? control.none : ""}`);
  console.info(`${without.length} of ${attacks.length} attacks have no control:\n${reasons.join("\n")}`);
  for (const { control } of without) expect("none" in control && control.none.length).toBeGreaterThan(10);
  expect(without.length).toBeLessThan(attacks.length / 4);
});
