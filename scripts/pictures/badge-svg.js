import { element, escapeXml } from "./xml.js";

const height = 20;
const padding = 8;

/** A small label and its value. */
export function badgeSvg({ label, value }) {
  const [left, right] = [label, value].map((text) => Math.ceil(textWidth(text)) + 2 * padding);
  const width = left + right;
  const text = (content, x) => element("text", { x, y: 14, "text-anchor": "middle" }, escapeXml(content));
  return `${element(
    "svg",
    { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${width} ${height}`, width, height, role: "img" },
    element("title", {}, escapeXml(`${label}: ${value}`)),
    element("desc", {}, "from package.json"),
    element("style", {}, "text{font:11px Verdana,DejaVu Sans,Geneva,sans-serif;fill:#fff}"),
    element("rect", { width, height, rx: 4, fill: "#1a7f37" }),
    element("path", { d: `M4 0H${left}V${height}H4a4 4 0 0 1 -4 -4V4a4 4 0 0 1 4 -4Z`, fill: "#424a53" }),
    text(label, left / 2),
    text(value, left + right / 2),
  )}\n`;
}

/** Approximate width in Verdana at 11 pixels. The padding allows for other fonts. */
function textWidth(text) {
  const widths = [...text].map((character) => {
    if (/[ijlft.:,1 -]/.test(character)) return 4.4;
    if (/[mwMW]/.test(character)) return 10.2;
    return /[A-Z>=]/.test(character) ? 8.2 : 6.8;
  });
  return widths.reduce((sum, one) => sum + one, 0);
}
