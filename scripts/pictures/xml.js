const escapes = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** Escapes a text for XML content and attributes. */
export function escapeXml(text) {
  return String(text).replace(/[&<>"]/g, (character) => escapes[character]);
}

/** One XML element. Undefined attributes are left out. */
export function element(name, attributes, ...content) {
  const written = Object.entries(attributes)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${key}="${escapeXml(typeof value === "number" ? round(value) : value)}"`);
  const inner = content.flat(9).join("");
  return inner === "" ? `<${name}${written.join("")}/>` : `<${name}${written.join("")}>${inner}</${name}>`;
}

/** Two digits are precise enough for any screen, and keep the file small. */
function round(value) {
  return Number(value.toFixed(2));
}
