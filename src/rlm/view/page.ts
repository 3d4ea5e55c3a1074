import { createHash } from "node:crypto";
import type { Trajectory } from "../trajectory/reader.ts";
import type { TrajectoryTree } from "../trajectory/tree.ts";
import { Html, html } from "./html.ts";
import { countText, durationText, moneyText, numberText, tokensText } from "./numbers.ts";
import { pageStyle } from "./page-style.ts";
import { finishChip, runParts } from "./run-parts.ts";
import { timelineSvg } from "./timeline-svg.ts";

const legend = [
  ["run", "agent"],
  ["turn", "turn"],
  ["reply", "root model"],
  ["code", "code"],
  ["sub", "sub-call"],
  ["cached", "cached"],
  ["failed", "failed"],
] as const;

/**
 * A trajectory as one page: no script, no other file. The policy in its head lets a browser load nothing and run nothing, and
 * only this style sheet applies, so that markup that got past the escaping could still do no harm.
 */
export function trajectoryPage(tree: TrajectoryTree, trajectory: Omit<Trajectory, "events">): string {
  const { root } = tree;
  const styleHash = createHash("sha256").update(pageStyle).digest("base64");
  const policy = `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'`;
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${new Html(policy)}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${root.id} · codecell trajectory</title>
<style>${new Html(pageStyle)}</style>
</head>
<body><main>
<header><h1>${root.id}</h1>${finishChip(root.finish)}<span class="soft">${new Date(tree.startMs).toISOString()}</span></header>
${alerts(tree, trajectory)}
${facts(tree)}
<h2>Timeline</h2>
${timelineSvg(tree)}
<p class="keys">${legend.map(([kind, name]) => html`<span><span class="key ${kind}"></span>${name}</span>`)}</p>
${runParts(root, root.cost.usd)}
<p class="note">${numberText(trajectory.head.lines)} lines. Hash of the last line: <code>${trajectory.head.hash}</code></p>
</main></body>
</html>
`;
  return page.markup;
}

function alerts({ ignored }: TrajectoryTree, { problem, tornBytes }: Omit<Trajectory, "events">): Html[] {
  const found: Html[] = [];
  if (problem)
    found.push(html`<p class="alert">Line ${problem.line} ${problem.what}. What follows it proves nothing.</p>`);
  if (tornBytes > 0)
    found.push(
      html`<p class="alert">The last line is cut off after ${countText(tornBytes, "byte")}: the program that wrote it crashed.</p>`,
    );
  if (ignored > 0) found.push(html`<p class="alert">Not shown: ${countText(ignored, "event")} without a run.</p>`);
  return found;
}

function facts({ root, startMs, endMs }: TrajectoryTree): Html {
  const { cost } = root;
  const turns = root.turns.filter(({ turn }) => turn > 0).length;
  const rows = [
    [durationText(endMs - startMs), "wall time"],
    [numberText(turns), "turns of the root"],
    [
      numberText(cost.calls),
      `calls${cost.failed > 0 ? `, ${cost.failed} failed` : ""}${cost.cached > 0 ? `, ${cost.cached} more cached` : ""}`,
    ],
    [tokensText(cost).replace(/ tokens?$/, ""), "tokens, with sub-agents"],
    [moneyText(cost), "cost"],
  ];
  return html`<div class="facts">${rows.map(([value, name]) => html`<div class="fact"><b>${value}</b><span>${name}</span></div>`)}</div>`;
}
