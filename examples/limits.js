// A policy limits; a run that goes over its time is stopped, and the session goes on with its variables.
import { openCodecell } from "codecell";

const policy = { proc: { timeout: "1s", memory: "256MiB" } };
const codecell = await openCodecell({ policy });
try {
  const session = await codecell.openSession();
  await session.run("found = ['kept']").result;

  const endless = await session.run("while True: pass").result;
  console.log(endless.status, endless.state);

  const after = await session.run("found").result;
  console.log(after.result);

  for (const { rule, value, by } of session.receipt.rules) {
    if (rule.startsWith("proc.")) console.log(rule, value, "held by", by);
  }
} finally {
  await codecell.close();
}
