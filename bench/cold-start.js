import { spawn } from "node:child_process";
import { once } from "node:events";
import { interleave, ms, row, timed } from "./harness.js";
import { openProcess } from "./open.js";

const python = "/usr/bin/python3";

async function bare(args) {
  const child = spawn(python, args, { env: { PATH: "/usr/bin:/bin" }, stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  return once(child, "exit");
}

/** Compares the first result of a cold cell with a bare interpreter. */
export async function coldStart() {
  const template = await openProcess({}, { layout: "template" });
  const direct = await openProcess({}, { layout: "direct" });
  const ready = await openProcess({ kernel: { preload: ["numpy", "pandas"] }, proc: { memory: "1GiB" } });
  const closing = [];
  const first = (codecell, code) => async () => {
    const session = await codecell.openSession();
    const result = await session.run(code);
    if (result.status !== "ok") throw new Error(result.error?.traceback ?? result.status);
    closing.push(session);
  };
  const closeAll = () => Promise.all(closing.splice(0).map((session) => session.close()));
  const measured = (work) => async () => {
    const time = await timed(work);
    await closeAll();
    return time;
  };
  const importing = "import numpy, pandas; print(1)";
  try {
    const variants = {
      bare: measured(() => bare(["-I", "-S", "-c", "print(1)"])),
      template: measured(first(template, "print(1)")),
      direct: measured(first(direct, "print(1)")),
    };
    for (const measure of Object.values(variants)) await measure();
    const cold = await interleave(variants, 25);
    const heavy = {
      importing: measured(() => bare(["-I", "-c", importing])),
      ready: measured(first(ready, importing)),
    };
    for (const measure of Object.values(heavy)) await measure();
    const warm = await interleave(heavy, 7);
    return [
      row(
        "cold cell from the template / bare python3",
        cold.template / cold.bare,
        { atMost: 1.5 },
        `${ms(cold.template)} / ${ms(cold.bare)}`,
      ),
      row(
        "cold cell, direct layout / bare python3",
        cold.direct / cold.bare,
        { atMost: 4 },
        `${ms(cold.direct)} / ${ms(cold.bare)}`,
      ),
      row(
        "numpy and pandas ready / importing them",
        warm.ready / warm.importing,
        { atMost: 0.1 },
        `${ms(warm.ready)} / ${ms(warm.importing)}`,
      ),
    ];
  } finally {
    await Promise.all([template.close(), direct.close(), ready.close()]);
  }
}
