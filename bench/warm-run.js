import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { interleave, ms, row, timed } from "./harness.js";
import { openAudited, openProcess } from "./open.js";

const spacingMs = 4;
const burstRuns = 20;
/** Long enough for the copy that is made while idle, which must not slow down the next run. */
const copiedMs = 200;

/** Compares a warm run with an echo through `cat`, and with runs that are audited. */
export async function warmRun() {
  const codecell = await openProcess();
  const uncopied = await openProcess({ session: { recovery: "off" } });
  const stateDir = await mkdtemp(join(tmpdir(), "codecell-bench-"));
  const audited = await openAudited(stateDir, {});
  const durable = await openAudited(stateDir, { audit: { durable: true } });
  const cat = spawn("cat", [], { stdio: ["pipe", "pipe", "inherit"] });
  try {
    const session = await codecell.openSession();
    const plain = await uncopied.openSession();
    const writing = await audited.codecell.openSession();
    const waiting = await durable.codecell.openSession();
    for (const one of [session, plain, writing, waiting]) await one.run("x = 0");
    const figures = await interleave(
      {
        echo: () => spaced(() => echo(cat)),
        run: () => spaced(() => session.run("x += 1")),
        audited: () => spaced(() => writing.run("x += 1")),
        durable: () => spaced(() => waiting.run("x += 1")),
      },
      300,
    );
    // Both pause equally: a pause alone makes the next run slower, because the processors go to sleep.
    const pauses = await interleave(
      {
        copied: () => spaced(() => session.run("x += 1"), copiedMs),
        uncopied: () => spaced(() => plain.run("x += 1"), copiedMs),
      },
      60,
    );
    // Shows the cost of writing the audit in the background, because the next run waits for it.
    const bursts = await interleave(
      { plain: () => timed(() => burst(session)), audited: () => timed(() => burst(writing)) },
      60,
    );
    const burstRatio = bursts.audited / bursts.plain;
    const figure = figures.run / figures.echo;
    const added = figures.audited / figures.run;
    const copyRatio = pauses.copied / pauses.uncopied;
    const pauseDetail = `${ms(pauses.copied)} / ${ms(pauses.uncopied)}`;
    const synced = figures.durable / figures.run;
    return [
      row("warm run, spaced / echo through cat", figure, { atMost: 5 }, `${ms(figures.run)} / ${ms(figures.echo)}`),
      row("warm run after a pause, copied / not", copyRatio, { atMost: 1.25 }, pauseDetail),
      row("warm run, audited / not", added, { atMost: 1.25 }, `${ms(figures.audited)} / ${ms(figures.run)}`),
      row("runs back to back, audited / not", burstRatio, { atMost: 2 }, `${ms(bursts.audited)} / ${ms(bursts.plain)}`),
      // includes two flushes of the disk, so the bound only catches other problems
      row("warm run, durable audit / none", synced, { atMost: 100 }, `${ms(figures.durable)} / ${ms(figures.run)}`),
    ];
  } finally {
    cat.kill();
    for (const one of [codecell, uncopied, audited, durable]) await one.close();
    await rm(stateDir, { recursive: true });
  }
}

async function burst(session) {
  for (let n = 0; n < burstRuns; n++) await session.run("x += 1");
}

async function spaced(work, pauseMs = spacingMs) {
  await pause(pauseMs);
  return timed(work);
}

async function echo(cat) {
  cat.stdin.write("x".repeat(100));
  await once(cat.stdout, "data");
}
