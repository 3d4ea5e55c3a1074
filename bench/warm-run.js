import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { interleave, ms, row, timed } from "./harness.js";
import { openProcess } from "./open.js";

const spacingMs = 4;

/** A spaced round trip of a warm run, against an echo through `cat`. */
export async function warmRun() {
  const codecell = await openProcess();
  const cat = spawn("cat", [], { stdio: ["pipe", "pipe", "inherit"] });
  try {
    const session = await codecell.openSession();
    await session.run("x = 0").result;
    const figures = await interleave(
      {
        echo: () => spaced(() => echo(cat)),
        run: () => spaced(() => session.run("x += 1").result),
      },
      300,
    );
    const figure = figures.run / figures.echo;
    return [
      row("warm run, spaced / echo through cat", figure, { atMost: 5 }, `${ms(figures.run)} / ${ms(figures.echo)}`),
    ];
  } finally {
    cat.kill();
    await codecell.close();
  }
}

async function spaced(work) {
  await pause(spacingMs);
  return timed(work);
}

async function echo(cat) {
  cat.stdin.write("x".repeat(100));
  await once(cat.stdout, "data");
}
