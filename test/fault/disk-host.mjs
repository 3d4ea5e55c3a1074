// Opens sessions with file systems of their own, one that persists and then one that does not, and waits to be killed.
const [, , built, stateDir, persist] = process.argv;
const { Codecell } = await import(built);
const policy = {
  isolation: { runner: "process" },
  proc: { disk: "8MiB", exactDisk: true },
  session: { persist: persist === "true" },
};
const codecell = await Codecell.open({ policy, stateDir });
const session = await codecell.session("kept");
await session.run("open('data', 'w').write('text'); x = 41");
if (persist === "true") await session.save();
process.stdout.write("ready\n");
setInterval(() => {}, 1000);
