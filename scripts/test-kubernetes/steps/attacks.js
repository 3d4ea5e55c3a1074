import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { attacks as catalogue } from "../../../dist/attacks/catalogue/index.js";
import { root } from "./context.js";
import { expect } from "./expect.js";

/** The suite has a time limit for each tier, and a pod takes longer to start than a process: so it is asked in parts. */
const attacksAtOnce = 15;
const limitMs = 240_000;

/** @type {import("./steps.js").Step} */
export const attacks = {
  name: "attacks",
  asks: "does a pod contain the attacks of `codecell doctor --attack`?",
  async run(context) {
    const results = [];
    for (let first = 0; first < catalogue.length; first += attacksAtOnce) {
      const ids = catalogue.slice(first, first + attacksAtOnce).map(({ id }) => id);
      results.push(...(await attack(context, ids)));
      console.error(`${results.length} of ${catalogue.length} attacks`);
    }
    const having = (...verdicts) => results.filter(({ verdict }) => verdicts.includes(verdict));
    const counts = `${having("contained").length} attacks contained, ${having("not_tried").length} do not apply`;
    const bad = having("harmed", "failed").map(
      ({ id, verdict, detail }) => `${id} ${verdict} (${detail.slice(0, 80)})`,
    );
    expect(bad.length === 0, `every attack was contained (${counts})`, bad);
    return { detail: counts, figures: { attacks: having("contained").length } };
  },
};

async function attack(context, ids) {
  const only = ids.flatMap((id) => ["--only", id]);
  const argv = [join(root, "bin/codecell.js"), "doctor", "--attack", "--runner", "kubernetes", "--json", ...only];
  const child = spawn(process.execPath, argv, {
    cwd: context.directory,
    env: { ...context.env, XDG_STATE_HOME: join(context.directory, "attacks") },
    stdio: ["ignore", "pipe", "inherit"],
    timeout: limitMs,
  });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (piece) => {
    text += piece;
  });
  await once(child, "close");
  const { error, tiers: [tier] = [] } = JSON.parse(text);
  expect(tier?.available, "the runner can be attacked", error ?? tier);
  return tier.results;
}
