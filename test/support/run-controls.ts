import { randomBytes } from "node:crypto";
import type { Attack, ControlWeakness } from "../../src/attacks/attack.ts";
import type { AttackHost } from "../../src/attacks/host/attack-host.ts";
import { treasure, untouched } from "../../src/attacks/host/watch-neighbour.ts";
import { bashProgramOf, programOf, statementIn } from "../../src/attacks/program.ts";
import type { EngineClient } from "../../src/runners/container/engine/engine-client.ts";
import { WeakContainer, type WeakJob } from "./weak-container.ts";

/** What a control saw: harm, or what happened instead. */
export interface ControlResult {
  readonly attack: Attack;
  readonly isHarmed: boolean;
  readonly detail: string;
}

export function weaknessOf({ control }: Attack): ControlWeakness | undefined {
  return "weakness" in control ? control.weakness : undefined;
}

/** Carries out attacks in one disposable container with one wall missing. */
export async function runControls(
  client: EngineClient,
  image: string,
  weakness: ControlWeakness,
  host: AttackHost,
  attacks: readonly Attack[],
): Promise<ControlResult[]> {
  const results: ControlResult[] = [];
  await using container = await WeakContainer.start(client, image, weakness, host);
  for (const attack of attacks) results.push({ attack, ...(await control(container, attack, host)) });
  return results;
}

async function control(container: WeakContainer, attack: Attack, host: AttackHost) {
  const mine = `mine-${randomBytes(8).toString("hex")}`;
  const facts = { ...host.facts, mine };
  const program = (attack.language === "bash" ? bashProgramOf : programOf)(attack.code, facts);
  const next = attack.afterwards === undefined ? undefined : programOf(attack.afterwards, facts);
  const secret = `secret = ${JSON.stringify(host.secret)}\n`;
  const before = programOf(`${secret}${treasure}\n${attack.victim?.before ?? ""}`, facts);
  const after = programOf(attack.victim?.after ?? `${secret}${untouched}`, facts);
  const job: WeakJob = {
    programs: [program.code, ...(next ? [next.code] : [])],
    ...(attack.language === "bash" ? { shell: program.code } : {}),
    ...(attack.scenario === "neighbour" ? { victim: { before: before.code, after: after.code } } : {}),
    mine,
    isTrusting: weaknessOf(attack) === "trusting-host",
  };
  const { printed, victim, survivors } = await container.run(job);
  // An attack that only the host can see says that it was contained, so the host's eyes come first.
  const seen = await host.harm(printed);
  if (seen !== undefined) return { isHarmed: true, detail: seen };
  if (survivors > 0) return { isHarmed: true, detail: `${survivors} processes survived` };
  const [, believed] = /^believed (?!0 $)(.*)$/m.exec(printed) ?? [];
  if (believed !== undefined) return { isHarmed: true, detail: `the supervisor believed or failed: ${believed}` };
  const said = statementIn(printed, next?.mark ?? program.mark);
  if (said.kind === "verdict" && said.text !== "contained") return { isHarmed: true, detail: said.text };
  if (victim === null && job.victim) return { isHarmed: true, detail: "the other session died" };
  const victims = statementIn(victim ?? "", after.mark);
  if (victims.kind === "verdict" && victims.text !== "contained") return { isHarmed: true, detail: victims.text };
  const why = said.kind === "none" ? printed.slice(-600) : `${said.kind}: ${said.text}`;
  return { isHarmed: false, detail: why };
}
