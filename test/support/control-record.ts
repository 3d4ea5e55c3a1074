import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import type { Attack } from "../../src/attacks/attack.ts";
import { prelude } from "../../src/attacks/prelude.ts";

const file = new URL("../containers/attack-controls.json", import.meta.url);

/** Attacks whose harm a control has shown: the day, and for each the hash of its program at that time. */
interface ControlRecord {
  readonly shownOn: string;
  readonly programs: Readonly<Record<string, string>>;
}

/** What a control depends on. An attack that changes in any of this has to be shown again. */
function programHash({ code, afterwards, victim, language, scenario, control }: Attack): string {
  const parts = JSON.stringify([prelude, code, afterwards, victim, language, scenario, control]);
  return createHash("sha256").update(parts).digest("hex").slice(0, 16);
}

export function readControlRecord(): ControlRecord {
  return JSON.parse(readFileSync(file, "utf8"));
}

/** Whether a control has shown the harm of this attack as it is now. */
export function isRecorded(attack: Attack, { programs }: ControlRecord): boolean {
  return programs[attack.id] === programHash(attack);
}

export function writeControlRecord(shown: readonly Attack[]): void {
  const programs = Object.fromEntries(
    shown.map((attack) => [attack.id, programHash(attack)] as const).sort(([one], [other]) => (one < other ? -1 : 1)),
  );
  const record: ControlRecord = { shownOn: new Date().toISOString().slice(0, 10), programs };
  writeFileSync(file, `${JSON.stringify(record, null, 2)}\n`);
}
