// A run is an AsyncIterable of events: output arrives while the program is still running.
import { Codecell } from "codecell";

const code = `
import sys, time
for step in range(3):
    print("step", step, flush=True)
    time.sleep(0.1)
print("a warning", file=sys.stderr)
`;

const codecell = await Codecell.open();
try {
  const session = await codecell.session();
  const run = session.run(code);
  for await (const event of run) {
    if (event.type === "display") console.log("display:", event.mime, event.data.byteLength, "bytes");
    else console.log(`${event.type}:`, event.text.trimEnd());
  }
  const { status, runner } = await run;
  console.log(status, "in", runner);
} finally {
  await codecell.close();
}
