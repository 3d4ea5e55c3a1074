// A host that works with saved sessions and prints what it has done, until a test kills it.
import { Codecell, parsePolicy } from "../../dist/bundled/index.js";
import { processRunner } from "../../dist/bundled/runners/process/runner.js";

const [stateDir, runtimeDir, first] = process.argv.slice(2);
const policy = parsePolicy({ session: { persist: true, pool: 1 }, proc: { timeout: "10s" } });
const runners = [processRunner({ layout: "template", runtimeDir })];
const manager = await Codecell.open({ policy, runners, stateDir, runtimeDir });
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
say({ t: "up" });

async function work(id, from = Number(first)) {
  const session = await manager.session(id);
  for (let n = from; ; n++) {
    say({ t: "begins", id, n });
    const write = `with open("n.tmp", "w") as file: file.write("${n}")\nimport os\nos.replace("n.tmp", "n.txt")`;
    await session.run(`n = ${n}\n${write}`);
    say({ t: "ran", id, n });
    const dice = Math.random();
    if (dice < 0.3) {
      await session.save();
      say({ t: "saved", id, n });
    } else if (dice < 0.5) {
      await session.checkpoint("here");
      await session.rollback("here");
    } else if (dice < 0.6) {
      const fork = await manager.fork(id);
      await fork.run("n = 'fork'");
      await manager.closeSession(fork.id, { forget: true });
    } else if (dice < 0.7) {
      await manager.closeSession(id);
      say({ t: "saved", id, n });
      return work(id, n + 1);
    }
  }
}
await Promise.all([work("one"), work("two")]);
