// Draws a recording as a terminal window: an SVG without fonts, scripts or links. The animation plays once.
import { styledLines } from "./ansi.js";
import { element, escapeXml } from "./xml.js";

const cell = { width: 8.4, height: 20, font: 14 };
const padding = { side: 22, top: 58, bottom: 18 };
const typing = { beforeMs: 500, perCharacterMs: 45, afterMs: 450, perLineMs: 70 };
const prompt = "$ ";
/** space above each command except the first */
const gap = 8;

/** Words that are drawn in a colour, in addition to the colours of the program. */
const accents = [
  { pattern: /\bstopped:/g, colour: "green" },
  { pattern: /^(?:fs\.mounts|net\.enabled|proc\.pids|proc\.disk)\b/g, colour: "green" },
];
const source = [
  { pattern: /\b(?:import|def|try|except|as|lambda|for|in)\b/g, colour: "keyword" },
  { pattern: /f?"[^"]*"/g, colour: "string" },
];

export function terminalSvg({ columns, steps }, { title, description }) {
  const lines = [];
  let clock = 0;
  for (const { command, output } of steps) {
    clock += typing.beforeMs;
    lines.push({ cells: commandCells(command), at: clock, isCommand: true, typed: command.length });
    clock += command.length * typing.perCharacterMs + typing.afterMs;
    const rules = /^cat \S+\.py$/.test(command) ? source : accents;
    for (const cells of styledLines(output)) {
      lines.push({ cells: accented(cells, rules), at: clock });
      clock += typing.perLineMs;
    }
  }
  lines.push({ cells: commandCells(""), at: clock + typing.beforeMs, isCommand: true, cursor: true });
  const width = columns * cell.width + 2 * padding.side;
  let bottom = padding.top;
  const placed = lines.map((line, index) => {
    if (line.isCommand && index > 0) bottom += gap;
    const y = bottom + cell.font;
    bottom += cell.height;
    return drawLine(line, y);
  });
  const height = bottom + padding.bottom;
  return `${element(
    "svg",
    { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${width} ${height}`, width, height, role: "img" },
    element("title", {}, escapeXml(title)),
    element("desc", {}, escapeXml(description)),
    element("style", {}, style),
    windowFrame(width, height),
    placed,
  )}\n`;
}

/** With reduced motion, everything is visible at once. Otherwise each line appears at its time. */
const style = `
text{font:${cell.font}px ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono","DejaVu Sans Mono",monospace;fill:#e6edf3;white-space:pre}
.dim{fill:#8b949e}.red{fill:#ff7b72}.green{fill:#3fb950}.yellow{fill:#d29922}.prompt{fill:#58a6ff}
.keyword{fill:#ff7b72}.string{fill:#a5d6ff}.bold{font-weight:600}.cover{fill:#0d1117;opacity:0}
@media (prefers-reduced-motion:no-preference){
.line{animation:show 1ms linear both}
.cover{animation:type 1s both;transform-box:fill-box;transform-origin:right}
.cursor{animation:blink 1.1s step-end 6}
}
@keyframes show{from{opacity:0}to{opacity:1}}
@keyframes type{from{opacity:1;transform:scaleX(1)}to{opacity:1;transform:scaleX(0)}}
@keyframes blink{50%{opacity:0}}
`;

function windowFrame(width, height) {
  const buttons = ["#ff5f57", "#febc2e", "#28c840"].map((fill, index) =>
    element("circle", { cx: 22 + index * 20, cy: 20, r: 6, fill }),
  );
  return [
    element("rect", {
      x: 0.5,
      y: 0.5,
      width: width - 1,
      height: height - 1,
      rx: 10,
      fill: "#0d1117",
      stroke: "#30363d",
    }),
    element("path", {
      d: `M0.5 40.5V10.5a10 10 0 0 1 10 -10H${width - 10.5}a10 10 0 0 1 10 10V40.5Z`,
      fill: "#161b22",
      stroke: "#30363d",
    }),
    buttons,
    element("text", { x: width / 2, y: 25, "text-anchor": "middle", class: "dim" }, "/tmp/agent"),
  ];
}

function drawLine({ cells, at, typed, cursor }, y) {
  const cover =
    typed === undefined
      ? []
      : element("rect", {
          ...{ class: "cover", x: x(prompt.length), y: y - cell.font, width: typed * cell.width, height: cell.height },
          style: `animation-delay:${at}ms;animation-duration:${typed * typing.perCharacterMs}ms;animation-timing-function:steps(${typed})`,
        });
  const block = {
    class: "cursor",
    x: x(prompt.length),
    y: y - cell.font + 1,
    width: cell.width,
    height: cell.height - 3,
    fill: "#8b949e",
  };
  return element(
    "g",
    { class: "line", style: `animation-delay:${at}ms` },
    runsOf(cells).map((run) => drawRun(run, y)),
    cover,
    cursor ? element("rect", { ...block, style: `animation-delay:${at}ms` }) : [],
  );
}

/** Each run of text has a fixed position and length, so that columns are aligned in any font. */
function drawRun({ column, text, colour, weight }, y) {
  const names = [colour, weight].filter(Boolean).join(" ") || undefined;
  const textLength = text.length * cell.width;
  return element("text", { x: x(column), y, textLength, class: names }, escapeXml(text));
}

function x(column) {
  return padding.side + column * cell.width;
}

function commandCells(command) {
  const mark = [...prompt].map((character) => ({ character, colour: "prompt" }));
  return [...mark, ...[...command].map((character) => ({ character, weight: "bold" }))];
}

function accented(cells, rules) {
  const text = cells.map(({ character }) => character).join("");
  const result = [...cells];
  for (const { pattern, colour } of rules) {
    for (const { index, 0: match } of text.matchAll(pattern)) {
      for (let at = index; at < index + match.length; at++) result[at] = { ...result[at], colour };
    }
  }
  return result;
}

/** Groups adjacent characters of one style, without the spaces around them. */
function runsOf(cells) {
  const runs = [];
  for (const [column, { character, colour, weight }] of cells.entries()) {
    const last = runs.at(-1);
    const isSame = last && last.colour === colour && last.weight === weight && !/ {2}$/.test(last.text);
    if (isSame) last.text += character;
    else if (character !== " ") runs.push({ column, text: character, colour, weight });
    else if (last && !/ {2}$/.test(last.text) && last.column + last.text.length === column) last.text += " ";
  }
  return runs.map((run) => ({ ...run, text: run.text.trimEnd() }));
}
