/**
 * One question of a release, asked by a command. `needs` names something that may not exist yet: a part without it is missing.
 * @typedef {{ name: string, asks: string, command: string[], limitSeconds: number, env?: Record<string, string>,
 *   needs?: { help: string[], text: string } }} Part
 */

const vitest = ["node", "node_modules/vitest/vitest.mjs", "run"];

/** In the order in which they run: what fails soonest comes first. @type {readonly Part[]} */
export const parts = [
  {
    name: "docs",
    asks: "Do the documents say what the program does, and do their examples run?",
    command: [...vitest, "--project", "unit", "--project", "runtime", "docs", "test/readme.test.ts", "readme-library"],
    limitSeconds: 600,
  },
  {
    name: "attacks",
    asks: "Does every tier of this machine hold against the attack suite?",
    command: ["node", "bin/codecell.js", "doctor", "--attack", "--json"],
    limitSeconds: 1800,
    needs: { help: ["node", "bin/codecell.js", "doctor", "--help"], text: "--attack" },
  },
  {
    name: "fuzz",
    asks: "Do the properties of every parser hold for new seeds?",
    command: ["node", "scripts/fuzz.js", "20"],
    limitSeconds: 1800,
  },
  {
    name: "tests",
    asks: "Does every test pass, on every runtime of this machine?",
    command: ["bash", "scripts/test-all.sh"],
    limitSeconds: 7200,
    env: { ATTACKS: "all", ATTACK_CONTROLS: "all", CONTAINERS_SECONDS: "4000" },
  },
  {
    name: "bench",
    asks: "Is every figure within its bound? Only a quiet machine can say.",
    command: ["node", "bench/run.js", "--json"],
    limitSeconds: 1800,
  },
];

/**
 * Pure: the parts that the command line names.
 * @param {readonly string[]} words
 * @returns {{ chosen: Part[], file: string } | { problem: string }}
 */
export function chooseParts(words, all = parts) {
  let [only, file] = [all.map(({ name }) => name), "verify-report.json"];
  const rest = [...words];
  while (rest.length > 0) {
    const [word, value] = rest.splice(0, 2);
    if (value === undefined) return { problem: `${word} needs a value` };
    if (word === "--only") only = value.split(",");
    else if (word === "--report") file = value;
    else return { problem: `unknown option ${word}; use --only PART,PART or --report FILE` };
  }
  const unknown = only.filter((name) => !all.some((part) => part.name === name));
  if (unknown.length > 0) {
    return {
      problem: `unknown part ${unknown.join(", ")}; use one or more of: ${all.map(({ name }) => name).join(", ")}`,
    };
  }
  return { chosen: all.filter(({ name }) => only.includes(name)), file };
}
