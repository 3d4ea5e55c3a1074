import type { WireReceipt } from "../../../../src/service/wire/receipt.ts";

export type ReceiptRule = WireReceipt["rules"][number];

export const isEnforced = ({ by }: ReceiptRule): boolean => by !== "nobody";

/** Pure: the rules that match a text, or of them only those that nobody enforces. */
export function chosenRules(rules: readonly ReceiptRule[], text: string, isOpenOnly: boolean): readonly ReceiptRule[] {
  const wanted = text.trim().toLowerCase();
  return rules.filter(
    (rule) =>
      !(isOpenOnly && isEnforced(rule)) &&
      [rule.rule, rule.value, rule.by, rule.how].some((field) => field.toLowerCase().includes(wanted)),
  );
}

/** Pure: stronger runners that were not used and why, apart from other notes. A receipt has them as `not NAME: REASON`. */
export function splitNotes(notes: readonly string[]): {
  readonly skipped: readonly { readonly runner: string; readonly reason: string }[];
  readonly others: readonly string[];
} {
  const skipped: { runner: string; reason: string }[] = [];
  const others: string[] = [];
  for (const note of notes) {
    const [, runner, reason] = /^not ([a-z0-9-]+): (.*)$/s.exec(note) ?? [];
    if (runner !== undefined && reason !== undefined) skipped.push({ runner, reason });
    else others.push(note);
  }
  return { skipped, others };
}
