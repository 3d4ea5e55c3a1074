import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { hostileText, sampleTrajectory } from "../../../test/fakes/sample-trajectory.ts";
import type { RlmEvent } from "../trajectory/event.ts";
import { trajectoryTree } from "../trajectory/tree.ts";
import { escapeHtml } from "./html.ts";
import { durationText, moneyText, usdText } from "./numbers.ts";
import { trajectoryPage } from "./page.ts";
import { timelineOf } from "./timeline.ts";

const sound = { head: { lines: 40, hash: "ab".repeat(32) }, tornBytes: 0 };

function treeOf(events: readonly RlmEvent[] = sampleTrajectory()) {
  const tree = trajectoryTree(events);
  if (!tree) throw new Error("no tree");
  return tree;
}
const page = trajectoryPage(treeOf(), sound);

describe("the page of a trajectory", () => {
  test("forbids everything but its own style sheet", () => {
    const policy = /http-equiv="Content-Security-Policy" content="([^"]+)"/.exec(page)?.[1] ?? "";
    const style = /<style>([\s\S]*?)<\/style>/.exec(page)?.[1] ?? "";
    const hash = createHash("sha256").update(style).digest("base64");
    expect(policy).toBe(`default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`);
  });

  test("has no script, no handler, no style attribute and no address outside itself", () => {
    const tags = page.match(/<[a-z][^>]*>/g) ?? [];
    expect(tags.length).toBeGreaterThan(100);
    expect(tags.filter((tag) => /^<(script|img|iframe|object|embed|link|form|base)/.test(tag))).toEqual([]);
    expect(tags.filter((tag) => / (on\w+|style|src)=/.test(tag))).toEqual([]);
    expect(tags.flatMap((tag) => / href="([^"]*)"/.exec(tag)?.[1] ?? []).filter((to) => !to.startsWith("#"))).toEqual(
      [],
    );
    expect(page).not.toMatch(/url\(|@import|https?:/);
  });

  test("shows hostile text as text, with control characters made visible", () => {
    expect(page).not.toContain("<script");
    expect(page).toContain("&lt;/pre&gt;&lt;script&gt;alert(1)&lt;/script&gt;");
    expect(page).toContain("^[]0;owned^G&lt;U+202E&gt;&amp;amp;");
    expect(page).not.toMatch(/(?![\n\t])\p{Cc}|\u202e/u);
  });

  test("escapes a hostile text wherever one can be", () => {
    const evil = '"><script>x</script>';
    const events = sampleTrajectory().map((event) =>
      JSON.parse(JSON.stringify(event), (key, value) =>
        typeof value === "string" && !["type", "purpose", "finish", "status", "call"].includes(key) && key !== "parent"
          ? key === "run" || key === "child"
            ? `${evil}${value}`
            : evil + value
          : key === "parent" && typeof value === "string"
            ? evil + value
            : value,
      ),
    ) as RlmEvent[];
    const text = trajectoryPage(treeOf(events), { ...sound, problem: { line: 1, what: evil } });
    expect(text).not.toContain("<script");
    expect(text.split("&lt;script&gt;").length).toBeGreaterThan(50);
  });

  test("links every bar of the timeline to a turn or a run of the page", () => {
    const targets = [...page.matchAll(/href="#([^"]*)"/g)].map(([, id]) => id);
    expect(targets.length).toBeGreaterThan(20);
    for (const target of new Set(targets)) expect(page).toContain(`id="${target}"`);
  });

  test("has the code, the output, the sub-calls, the sub-agent, the refused SUBMIT and the cost", () => {
    for (const text of ["llm_query_batched(prompts)", "Sub-calls (8)", "rlm-7f3a.1", "SUBMIT was refused", "$0.0193"]) {
      expect(page).toContain(text);
    }
  });

  test("says that a line was changed, that the last one is cut off, and that a run did not finish", () => {
    const cut = trajectoryPage(treeOf(sampleTrajectory().slice(0, 12)), {
      ...{ head: sound.head, tornBytes: 7, problem: { line: 3, what: "was changed" } },
    });
    expect(cut).toContain("Line 3 was changed.");
    expect(cut).toContain("cut off after 7 bytes");
    expect(cut).toContain(">unfinished</span>");
  });
});

describe("the timeline", () => {
  test("draws what ran at the same time in different rows", () => {
    const { bars, dropped } = timelineOf(treeOf());
    expect(dropped).toBe(0);
    for (const [index, a] of bars.entries()) {
      for (const b of bars.slice(index + 1)) {
        const overlaps = a.row === b.row && a.startMs < b.endMs && b.startMs < a.endMs;
        expect(overlaps && [a.label, b.label]).toBe(false);
      }
    }
  });

  test("stays small for a batch of thousands of calls", () => {
    const events = sampleTrajectory();
    const request = events.find((event) => event.type === "lm_request" && event.purpose === "sub");
    const end = events.find((event) => event.type === "lm_response");
    if (request?.type !== "lm_request" || end?.type !== "lm_response") throw new Error("the sample has calls");
    const many = Array.from({ length: 5000 }, (_, n): RlmEvent[] => [
      { ...request, call: `m${n}` },
      { ...end, turn: request.turn, call: `m${n}`, at: request.at + 500 },
    ]).flat();
    const { rows, dropped } = timelineOf(treeOf([...events, ...many]));
    expect(rows).toBeLessThanOrEqual(80);
    expect(dropped).toBeGreaterThan(4000);
  });
});

test("amounts are short and honest", () => {
  expect([durationText(12), durationText(7842), durationText(125_000)]).toEqual(["12 ms", "7.8 s", "2 min 05 s"]);
  expect([usdText(0), usdText(0.00001), usdText(0.0213), usdText(12.345)]).toEqual([
    "$0",
    "<$0.0001",
    "$0.0213",
    "$12.35",
  ]);
  const { cost } = treeOf().root;
  expect(moneyText({ ...cost, unpriced: 2 })).toBe("$0.0193 + 2 calls without a price");
  expect(moneyText({ ...cost, unpriced: cost.calls })).toBe("no price");
});

test("text is escaped for elements and for quoted attributes", () => {
  expect(escapeHtml(`<a b="c" d='e'>&`)).toBe("&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;");
  expect(escapeHtml("\u0000\u001c\ud800é\n\t")).toBe("^@^\\&lt;U+D800&gt;é\n\t");
  expect(escapeHtml(hostileText)).not.toMatch(/[<>"]/);
});
