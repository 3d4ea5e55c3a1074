// A process that saves a session in a database, changes it again, and waits until a test kills it.
import { Codecell, parsePolicy } from "../../dist/bundled/index.js";
import { processRunner } from "../../dist/bundled/runners/process/runner.js";

const [database, stateDir, runtimeDir] = process.argv.slice(2);
const policy = parsePolicy({ session: { persist: true } });
const runners = [processRunner({ layout: "template", runtimeDir })];
const codecell = await Codecell.open({ policy, runners, stateDir, runtimeDir, database });
const session = await codecell.session("work");
await session.run("x = 1");
await session.save();
await session.run("x = 2");
process.stdout.write("ready\n");
setInterval(() => {}, 60_000);
