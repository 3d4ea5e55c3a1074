import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { expect } from "vitest";

let source: Promise<string> | undefined;

/** Which rules axe checks. The one for contrast depends on the colours, and takes as long as all others, which do not. */
export type AxeRules = "all" | "contrast" | "without contrast";

const options: Readonly<Record<AxeRules, object>> = {
  all: {},
  contrast: { runOnly: { type: "rule", values: ["color-contrast"] } },
  "without contrast": { rules: { "color-contrast": { enabled: false } } },
};

/** Fails with what axe finds on the page as it is now: contrast, names, roles, order. */
export async function expectAccessible(page: Page, rules: AxeRules = "all"): Promise<void> {
  source ??= readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(await source); // not a script of the page: no policy applies
  const found = (await page.evaluate(
    `axe.run(document, ${JSON.stringify({ resultTypes: ["violations"], ...options[rules] })}).then(({ violations }) => violations.map(({ id, nodes }) => ({ id, nodes: nodes.slice(0, 3).map(({ html, failureSummary }) => html.slice(0, 200) + ' ' + failureSummary) })))`,
  )) as unknown[];
  expect(found).toEqual([]);
}
