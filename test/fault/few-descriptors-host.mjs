// A host with few file descriptors: opens sessions until they are used up, and says what still works.
import { Codecell, parsePolicy } from "../../dist/bundled/index.js";
import { processRunner } from "../../dist/bundled/runners/process/runner.js";

const [stateDir, runtimeDir, layout] = process.argv.slice(2);
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const runners = [processRunner({ layout, runtimeDir })];
const codecell = await Codecell.open({
  policy: parsePolicy({ session: { limit: 500 } }),
  runners,
  stateDir,
  runtimeDir,
});
const first = await codecell.session("first");
await first.run("n = 41");
const others = [];
let failure;
while (failure === undefined && others.length < 200) {
  try {
    const session = await codecell.session();
    await session.run("1");
    others.push(session.id);
  } catch (error) {
    failure = { name: error.constructor.name, code: error.code, message: error.message, hint: error.hint };
  }
}
say({ opened: others.length, failure });
const during = await first.run("n + 1").catch((error) => ({ error: error.message }));
say({ during: during.value ?? during.error, notes: during.notes });
for (const id of others) await codecell.closeSession(id, { forget: true });
const again = await codecell.session();
say({ again: (await again.run("2 + 2")).value, first: (await first.run("n")).value });
await codecell.close();
