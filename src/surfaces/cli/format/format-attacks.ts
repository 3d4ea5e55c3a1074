import type { Attack, AttackResult, AttackVerdict } from "../../../attacks/attack.ts";
import { countVerdicts, kindsOf, overallVerdict, type TierReport } from "../../../attacks/attack-report.ts";
import { plural } from "./text/plural.ts";
import { safeText } from "./text/safe-text.ts";
import type { Style } from "./text/style.ts";
import { tableLines, wrapText } from "./text/table.ts";

type AttackedTier = Extract<TierReport, { available: true }>;

const words: Readonly<Record<AttackVerdict, string>> = {
  contained: "contained",
  harmed: "HARMED",
  failed: "FAILED",
  "not tried": "-",
};

/** The verdict first, then every attack by tier, then counts by kind, and at the end what needs a look. */
export function attacksText(
  attacks: readonly Attack[],
  tiers: readonly TierReport[],
  style: Style,
  width: number,
): string {
  const attacked = tiers.filter((tier): tier is AttackedTier => tier.available);
  const room = Math.min(width, 160);
  const lines = [
    ...matrix(attacks, attacked, room),
    "",
    ...summary(attacked, room),
    ...problems(attacked, "harmed", style, room),
    ...problems(attacked, "failed", style, room),
    ...notTried(attacked, room),
    ...missing(tiers, room),
    "",
    verdict(attacked, style),
  ];
  return `${lines.join("\n")}\n`;
}

function matrix(attacks: readonly Attack[], tiers: readonly AttackedTier[], width: number): string[] {
  const byId = tiers.map(({ results }) => new Map(results.map((result) => [result.attack.id, result])));
  const header = ["attack", ...tiers.map(({ tier }) => tier), "contained by"];
  const rows = attacks.map(({ id }) => {
    const found = byId.map((results) => results.get(id));
    return [id, ...found.map((result) => (result ? words[result.verdict] : "")), containedBy(found)];
  });
  return tableLines(header, rows, width);
}

/** What contained an attack, once if it was the same on several tiers. */
function containedBy(results: readonly (AttackResult | undefined)[]): string {
  const defences = new Map<string, string[]>();
  for (const result of results) {
    if (result?.verdict !== "contained") continue;
    defences.set(result.detail, [...(defences.get(result.detail) ?? []), result.tier]);
  }
  if (defences.size === 1) return [...defences.keys()].map(safeText).join("");
  return [...defences].map(([detail, tiers]) => `${tiers.join(", ")}: ${safeText(detail)}`).join("; ");
}

/** Counts of what was contained by kind, then all counts of each tier. */
function summary(tiers: readonly AttackedTier[], width: number): string[] {
  const kinds = kindsOf(tiers.flatMap(({ results }) => results));
  const share = (results: readonly AttackResult[]) => {
    const counts = countVerdicts(results);
    const tried = results.length - counts["not tried"];
    return tried === 0 ? "-" : `${counts.contained}/${tried}`;
  };
  const rows = tiers.map(({ tier, results, durationMs }) => {
    const counts = countVerdicts(results);
    const byKind = kinds.map((kind) => share(results.filter(({ attack }) => attack.kind === kind)));
    const all = [counts.contained, counts.harmed, counts.failed, counts["not tried"]].map(String);
    return [tier, ...byKind, ...all, `${(durationMs / 1000).toFixed(1)} s`];
  });
  return tableLines(["tier", ...kinds, "contained", "harmed", "failed", "not tried", "time"], rows, width);
}

function problems(tiers: readonly AttackedTier[], wanted: AttackVerdict, style: Style, width: number): string[] {
  const found = tiers.flatMap(({ results }) => results.filter((result) => result.verdict === wanted));
  if (found.length === 0) return [];
  return [
    "",
    style.red(wanted === "harmed" ? "Not contained:" : "Could not be carried out, which proves nothing:"),
    ...found.flatMap(({ attack, tier, detail }) => [
      `  ${tier}: ${attack.id}: a program that ${attack.title}`,
      ...wrapText(safeText(detail), Math.max(40, width - 4)).map((line) => `    ${line}`),
    ]),
  ];
}

/** Attacks of a tier that were not tried for the same reason are named together. */
function notTried(tiers: readonly AttackedTier[], width: number): string[] {
  const lines = tiers.flatMap(({ tier, results }) => {
    const reasons = new Map<string, string[]>();
    for (const { attack, verdict: one, detail } of results) {
      if (one === "not tried") reasons.set(detail, [...(reasons.get(detail) ?? []), attack.id]);
    }
    return [...reasons].flatMap(([reason, ids]) =>
      wrapText(`${tier}: ${safeText(reason)} (${ids.length}): ${ids.join(", ")}`, Math.max(40, width - 4)).map(
        (line, index) => `${index === 0 ? "  " : "    "}${line}`,
      ),
    );
  });
  return lines.length === 0 ? [] : ["", "Not tried:", ...lines];
}

function missing(tiers: readonly TierReport[], width: number): string[] {
  const lines = tiers.flatMap((tier) =>
    tier.available
      ? []
      : wrapText(
          `${tier.tier}: ${tier.reason}${tier.hint === "" ? "" : ` (${tier.hint})`}`,
          Math.max(40, width - 4),
        ).map((line, index) => `${index === 0 ? "  " : "    "}${line}`),
  );
  return lines.length === 0 ? [] : ["", "Not available on this machine:", ...lines];
}

function verdict(tiers: readonly AttackedTier[], style: Style): string {
  const { contained, harmed, failed } = countVerdicts(tiers.flatMap(({ results }) => results));
  const names = tiers.map(({ tier }) => tier).join(", ");
  switch (overallVerdict(tiers)) {
    case "contained":
      return style.green(`All ${plural(contained, "attack")} that were tried were contained: ${names}`);
    case "harmed":
      return style.red(`${plural(harmed, "attack")} did harm, ${contained} were contained: ${names}`);
    case "failed":
      return style.red(`${plural(failed, "attack")} could not be carried out, ${contained} were contained: ${names}`);
  }
}
