// The figures of docs/pictures/latency.json as bars on one logarithmic scale.
import { element, escapeXml } from "./xml.js";

const size = { width: 850, left: 268, right: 90, top: 84, bar: 18, step: 29, head: 44, foot: 88 };

/** The bars of the picture and their labels. Bars with `ours` are coloured. */
const panels = [
  {
    name: "first",
    title: "First result: start a new sandbox and run print(1)",
    bars: {
      process: { label: "codecell, process runner", ours: true },
      container: { label: "codecell, container runner", ours: true },
      wasm: { label: "codecell, wasm runner", ours: true },
      cli: { label: "codecell run (starts Node)", ours: true },
      python: { label: "python3, no sandbox" },
      docker: { label: "docker run" },
    },
  },
  {
    name: "next",
    title: "Next run: x += 1 in the same session",
    bars: {
      process: { label: "codecell, process runner", ours: true },
      container: { label: "codecell, container runner", ours: true },
      wasm: { label: "codecell, wasm runner", ours: true },
      http: { label: "minimal HTTP kernel in Docker" },
      python: { label: "python3 again *" },
      exec: { label: "docker exec *" },
    },
  },
];

const notes = [
  "codecell runners: a new session in a program that is already running, such as the MCP or HTTP server.",
  "* a new interpreter for each call: no variables are kept.",
];

export function latencySvg(figures, { title, description }) {
  const shown = panels.map(({ name, title, bars }) => ({
    title,
    bars: Object.entries(figures[name])
      .map(([key, value]) => ({ ...known(bars, key), value }))
      .sort((one, other) => one.value - other.value),
  }));
  const values = shown.flatMap(({ bars }) => bars.map(({ value }) => value));
  const x = logScale(Math.min(...values) / 2.5, Math.max(...values));
  const parts = [];
  let y = size.top;
  for (const { title, bars } of shown) {
    const bottom = y + 22 + bars.length * size.step;
    parts.push(element("text", { x: 24, y: y + 4, class: "panel" }, escapeXml(title)), grid(x, y + 18, bottom - 4));
    parts.push(bars.map((bar, index) => drawBar(bar, x, y + 24 + index * size.step)));
    y = bottom + size.head;
  }
  const axis = y - size.head + 14;
  const height = axis + size.foot;
  return `${element(
    "svg",
    {
      ...{ xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${size.width} ${height}` },
      ...{ width: size.width, height, role: "img" },
    },
    element("title", {}, escapeXml(title)),
    element("desc", {}, escapeXml(description)),
    element("style", {}, style),
    element("rect", {
      ...{ x: 0.5, y: 0.5, width: size.width - 1, height: height - 1, rx: 10 },
      ...{ fill: "#0d1117", stroke: "#30363d" },
    }),
    element("text", { x: 24, y: 38, class: "title" }, "Latency, median, shorter is better"),
    element("text", { x: size.width - 24, y: 38, class: "note", "text-anchor": "end" }, "logarithmic scale"),
    parts,
    x.ticks.map(({ value, at }) =>
      element("text", { x: at, y: axis, class: "note", "text-anchor": "middle" }, time(value)),
    ),
    [...notes, conditions(figures)].map((note, index) =>
      element("text", { x: 24, y: axis + 36 + index * 18, class: "note" }, escapeXml(note)),
    ),
  )}\n`;
}

const style = `
text{font:14px -apple-system,BlinkMacSystemFont,"Segoe UI","Noto Sans",Helvetica,Arial,sans-serif;fill:#e6edf3}
.title{font-size:17px;font-weight:600}.panel{font-weight:600}.note{font-size:12px;fill:#8b949e}
.value{font-variant-numeric:tabular-nums}.ours{fill:#3fb950}.other{fill:#6e7681}.grid{stroke:#21262d}
`;

function known(bars, key) {
  if (bars[key] === undefined) throw new Error(`latency.json has a figure without a label: ${key}`);
  return bars[key];
}

/** Maps milliseconds to a position in the picture, with a tick at each power of ten. */
function logScale(least, most) {
  const width = size.width - size.left - size.right;
  const at = (value) => size.left + (width * Math.log(value / least)) / Math.log(most / least);
  const ticks = [];
  for (let power = Math.ceil(Math.log10(least)); 10 ** power <= most; power++) {
    ticks.push({ value: 10 ** power, at: at(10 ** power) });
  }
  return { at, ticks };
}

function grid({ ticks }, top, bottom) {
  return ticks.map(({ at }) => element("line", { x1: at, x2: at, y1: top, y2: bottom, class: "grid" }));
}

function drawBar({ label, value, ours }, x, y) {
  const middle = y + size.bar / 2 + 5;
  const end = x.at(value);
  const bar = { x: size.left, y, width: end - size.left, height: size.bar, rx: 3 };
  return [
    element("text", { x: size.left - 12, y: middle, "text-anchor": "end" }, escapeXml(label)),
    element("rect", { ...bar, class: ours ? "ours" : "other" }),
    element("text", { x: end + 8, y: middle, class: "value" }, time(value)),
  ];
}

function time(milliseconds) {
  const [value, unit] = milliseconds >= 1000 ? [milliseconds / 1000, "s"] : [milliseconds, "ms"];
  return `${Number(value.toPrecision(2))} ${unit}`;
}

function conditions({ date, machine }) {
  const { cpus, memoryGiB, os, load } = machine;
  const busy = load > cpus / 2 ? `, busy with other work (load ${load})` : "";
  const versions = Object.entries(machine.versions).map(([name, version]) => `${name} ${version}`);
  return `${date}, ${cpus} CPUs, ${memoryGiB} GiB memory${busy}; ${[os, ...versions].join(", ")}`;
}
