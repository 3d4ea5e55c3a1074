// A policy limits; a run that exceeds its time limit is interrupted, and the session keeps its variables.
import { Codecell } from "codecell";

const policy = { proc: { timeout: "1s", memory: "256MiB" } };
const codecell = await Codecell.open({ policy });
try {
  const session = await codecell.session();
  await session.run("found = ['kept']");

  const endless = await session.run("while True: pass");
  console.log(endless.status, endless.state);

  const after = await session.run("found");
  console.log(after.value);

  for (const { rule, value, by } of (await session.receipt()).rules) {
    if (rule.startsWith("proc.")) console.log(rule, value, "enforced by", by);
  }
} finally {
  await codecell.close();
}
