const escapes = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** A text as XML writes it, in content and in attributes. */
export function escapeXml(text) {
  return String(text).replace(/[&<>"]/g, (character) => escapes[character]);
}

/** One element; attributes that are undefined are left out. */
export function element(name, attributes, ...content) {
  const written = Object.entries(attributes)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${key}="${escapeXml(typeof value === "number" ? round(value) : value)}"`);
  const inner = content.flat(9).join("");
  return inner === "" ? `<${name}${written.join("")}/>` : `<${name}${written.join("")}>${inner}</${name}>`;
}

/** Two digits are finer than any screen, and keep the file short. */
function round(value) {
  return Number(value.toFixed(2));
}
