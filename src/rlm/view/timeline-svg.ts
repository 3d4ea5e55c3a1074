import type { TrajectoryTree } from "../trajectory/tree.ts";
import { type Html, html } from "./html.ts";
import { countText, durationText } from "./numbers.ts";
import { type Bar, timelineOf } from "./timeline.ts";

const size = { width: 1080, row: 20, gap: 2, axis: 22 } as const;
/** of a character at 11 px */
const characterWidth = 6.3;

/** The timeline as one inline SVG: bars link to their turn, and need no script. */
export function timelineSvg(tree: TrajectoryTree): Html {
  const { bars, rows, dropped } = timelineOf(tree);
  const spanMs = Math.max(1, tree.endMs - tree.startMs);
  const height = size.axis + rows * (size.row + size.gap);
  const x = (ms: number) => ((ms - tree.startMs) / spanMs) * size.width;
  const ticks = tickTimes(spanMs).map((ms) => {
    const at = round((ms / spanMs) * size.width);
    return html`<line class="tick" x1="${at}" y1="0" x2="${at}" y2="${height}"/><text class="time" x="${at + 3}" y="11">${durationText(ms)}</text>`;
  });
  const note = dropped === 0 ? undefined : html`<p class="note">${countText(dropped, "bar")} not drawn.</p>`;
  return html`<div class="timeline"><svg viewBox="0 0 ${size.width} ${height}" role="img" aria-label="Timeline of runs, turns and calls">${ticks}${bars.map((bar) => barSvg(bar, x))}</svg></div>${note}`;
}

function barSvg(bar: Bar, x: (ms: number) => number): Html {
  const left = x(bar.startMs);
  const width = Math.max(1.5, x(bar.endMs) - left - 0.5);
  const top = size.axis + bar.row * (size.row + size.gap);
  const fits = Math.floor((width - 8) / characterWidth);
  const label = bar.label.length <= fits ? bar.label : fits >= 4 ? `${bar.label.slice(0, fits - 1)}…` : "";
  const text = label === "" ? undefined : html`<text x="${round(left + 5)}" y="${top + size.row - 6}">${label}</text>`;
  return html`<a href="#${bar.target}" class="bar ${bar.kind}"><title>${bar.detail}</title><rect x="${round(left)}" y="${top}" width="${round(width)}" height="${size.row}" rx="3"/>${text}</a>`;
}

/** About six round times. */
function tickTimes(spanMs: number): number[] {
  const rough = spanMs / 6;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough) ?? rough;
  const times: number[] = [];
  for (let ms = 0; ms < spanMs * 0.97; ms += step) times.push(ms);
  return times;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
