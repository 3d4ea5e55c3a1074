/** Synthetic tasks over long texts, the same for the same seed. Only the scorer knows the truth. */
const labels = ["billing", "delivery", "refund", "praise", "outage"];
const words = ["amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron"];

/** One fact in a long text. */
export function needle(characters, seed) {
  const random = randomOf(seed);
  const lines = noise(characters, random);
  const code = String(1_000_000 + Math.floor(random() * 9_000_000));
  const word = pick(words, random);
  lines.splice(Math.floor(random() * lines.length), 0, `The code of ${word} is ${code}.`);
  const score = (answer) => (answer === code ? 1 : 0);
  return { question: `What is the code of ${word}?`, text: lines.join("\n"), score };
}

/** A count over all lines: each step away from the truth costs a quarter. */
export function aggregation(characters, seed) {
  const random = randomOf(seed);
  const lines = noise(characters, random);
  const label = pick(labels, random);
  const truth = lines.filter((line) => line.endsWith(`: ${label}`)).length;
  const score = (answer) => (/^\d+$/.test(answer) ? 0.75 ** Math.abs(Number(answer) - truth) : 0);
  return { question: `How many lines have the label ${label}?`, text: lines.join("\n"), score };
}

/** All pairs of users that have a rare label: F1 over the pairs. */
export function pairs(characters, seed) {
  const random = randomOf(seed);
  const lines = noise(characters, random);
  const users = new Set(Array.from({ length: 12 }, () => `user${Math.floor(random() * 900) + 100}`));
  for (const user of users) lines.splice(Math.floor(random() * lines.length), 0, `${date(random)} ${user}: fraud`);
  const truth = new Set(pairsOf([...users]));
  const score = (answer) => {
    const given = new Set(answer.split(" ").filter((pair) => pair !== ""));
    const right = [...given].filter((pair) => truth.has(pair)).length;
    return right === 0 ? 0 : (2 * right) / (given.size + truth.size);
  };
  return { question: "Which pairs of users both have the label fraud?", text: lines.join("\n"), score };
}

function pairsOf(users) {
  const sorted = users.sort();
  return sorted.flatMap((a, at) => sorted.slice(at + 1).map((b) => `${a}+${b}`));
}

function noise(characters, random) {
  const lines = [];
  for (let length = 0; length < characters; length += lines.at(-1).length + 1) {
    lines.push(`${date(random)} user${Math.floor(random() * 900) + 100}: ${pick(labels, random)}`);
  }
  return lines;
}

const pick = (list, random) => list[Math.floor(random() * list.length)];
const date = (random) => `2025-${two(random() * 12)}-${two(random() * 28)}`;
const two = (value) => String(Math.floor(value) + 1).padStart(2, "0");

/** mulberry32 */
function randomOf(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
