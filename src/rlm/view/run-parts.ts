import type { FinishReason } from "../trajectory/event.ts";
import type { CallNode, RunNode, TurnNode } from "../trajectory/tree.ts";
import { type Html, html } from "./html.ts";
import { countText, durationText, moneyText, numberText, tokensText } from "./numbers.ts";
import { runAnchor, turnAnchor } from "./timeline.ts";

/** The signature, inputs, outputs and turns of a run. `treeUsd`: what the whole tree cost, for the share of each turn. */
export function runParts(run: RunNode, treeUsd: number): Html {
  const { start, finished, inputs } = run;
  const instructions = start.instructions === undefined ? undefined : html`<p>${start.instructions}</p>`;
  return html`<div id="${runAnchor(run.id)}">
<h2>Signature</h2><pre>${start.signature}</pre>${instructions}
${outputs(finished)}
${inputs.length === 0 ? undefined : html`<h2>Inputs</h2><div class="box">${inputs.map(input)}</div>`}
<h2>Turns</h2>
${run.turns.map((turn) => turnPart(run, turn, treeUsd))}
</div>`;
}

export function finishChip(finish: FinishReason | undefined): Html {
  const kind = finish === "submitted" ? "good" : finish === "extracted" || finish === undefined ? "warn" : "bad";
  return html`<span class="chip ${kind}">${finish ?? "unfinished"}</span>`;
}

function outputs(finished: RunNode["finished"]): Html | undefined {
  if (!finished) return undefined;
  const { outputs: values, outputsChars, message } = finished;
  const text =
    values !== undefined
      ? JSON.stringify(values, null, 2)
      : outputsChars !== undefined
        ? `(${countText(outputsChars, "character")}, too long for the trajectory)`
        : undefined;
  return html`<h2>Outputs</h2>${message === undefined ? undefined : html`<p>${message}</p>`}${text === undefined ? html`<p class="soft">none</p>` : html`<pre>${text}</pre>`}`;
}

function input(variable: RunNode["inputs"][number]): Html {
  const { name, type, chars, preview, description } = variable;
  return html`<details class="item"><summary><b>${name}</b><span class="soft">${type}</span><span class="first">${description ?? firstLine(preview)}</span><span class="right">${countText(chars, "character")}</span></summary><pre>${preview}</pre></details>`;
}

function turnPart(run: RunNode, turn: TurnNode, treeUsd: number): Html {
  const name = turn.turn === 0 ? "Before the first turn" : `Turn ${turn.turn}`;
  const { result, code } = turn;
  return html`<details class="turn" open id="${turnAnchor(run.id, turn.turn)}">
<summary><b>${name}</b>${chips(turn)}<span class="right">${share(turn.cost.usd, treeUsd)}<span>${durationText(turn.endMs - turn.startMs)}</span><span>${moneyText(turn.cost)}</span></span></summary>
<div class="body">
${turn.replies.map((call) => callPart(call))}
${code === undefined ? undefined : html`<h3>Code</h3><pre>${code}</pre>`}
${result === undefined ? undefined : html`<h3>Output (${countText(result.outputChars, "character")}, ${durationText(result.ms)})</h3><pre>${result.output === "" ? "(nothing printed)" : result.output}</pre>`}
${turn.submits.filter(({ valid }) => !valid).map(({ errors }) => html`<h3>SUBMIT was refused</h3><pre>${(errors ?? []).map(({ path, message }) => `${path}: ${message}`).join("\n")}</pre>`)}
${turn.warnings.map(({ percent, kind }) => html`<p class="warn">${percent} % of the ${kind} budget is used.</p>`)}
${turn.calls.length === 0 ? undefined : html`<h3>Sub-calls (${numberText(turn.calls.length)})</h3>${turn.calls.map((call) => callPart(call))}`}
${turn.runs.map((child) => childPart(child, treeUsd))}
</div></details>`;
}

function childPart(child: RunNode, treeUsd: number): Html {
  return html`<section class="run"><header><b>${child.id}</b>${finishChip(child.finish)}<span class="soft">${durationText(child.endMs - child.startMs)} · ${countText(child.cost.calls, "call")} · ${moneyText(child.cost)}</span></header>${runParts(child, treeUsd)}</section>`;
}

function chips({ result, submits, calls, runs }: TurnNode): Html[] {
  const found: Html[] = [];
  if (result && result.status !== "ok") found.push(html`<span class="chip bad">${result.status}</span>`);
  if (submits.some(({ valid }) => !valid)) found.push(html`<span class="chip bad">SUBMIT refused</span>`);
  if (submits.some(({ valid }) => valid)) found.push(html`<span class="chip good">SUBMIT</span>`);
  if (calls.length > 0) found.push(html`<span class="soft">${countText(calls.length, "sub-call")}</span>`);
  if (runs.length > 0) found.push(html`<span class="soft">${countText(runs.length, "sub-agent")}</span>`);
  return found;
}

/** A small bar: this turn's part of the tree's cost. */
function share(usd: number, treeUsd: number): Html | undefined {
  if (treeUsd <= 0) return undefined;
  const percent = Math.round((usd / treeUsd) * 100);
  return html`<svg class="share" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label="${percent} % of the cost"><title>${percent} % of the cost</title><rect width="${percent}" height="8"/></svg>`;
}

function callPart({ request, response, cost, startMs, endMs }: CallNode): Html {
  const state = !response ? "no answer" : response.status !== "ok" ? response.status : response.cached ? "cached" : "";
  const chip =
    state === "" ? undefined : html`<span class="chip ${state === "cached" ? "soft" : "bad"}">${state}</span>`;
  const stop =
    response?.stop === undefined || response.stop === "end"
      ? undefined
      : html`<span class="chip warn">${response.stop}</span>`;
  const price = response?.cached ? undefined : html`<span>${tokensText(cost)}</span><span>${moneyText(cost)}</span>`;
  return html`<details class="item"><summary><b>${request.purpose === "extract" ? `extract, ${request.model}` : request.model}</b>${chip}${stop}<span class="first">${firstLine(response?.text ?? request.prompt)}</span><span class="right"><span>${durationText(endMs - startMs)}</span>${price}</span></summary>
<h3>Prompt (${countText(request.promptChars, "character")})</h3><pre>${request.prompt}</pre>
<h3>Answer</h3><pre>${response?.text ?? "(none)"}</pre></details>`;
}

/** The line that says most: not the fence before the code, which is shown below. */
function firstLine(text: string): string {
  const line = text.split("\n").find((one) => one.trim() !== "") ?? "";
  if (line.trimStart().startsWith("```")) return "";
  return line.length > 160 ? `${line.slice(0, 160)}…` : line;
}
