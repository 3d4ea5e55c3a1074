import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { interleave, ms, row, timed } from "./harness.js";
import { openProcess } from "./open.js";

const size = 100 * 1024 * 1024;

/** Compares setting a variable of 100 MB with reading a file of that size in the same cell. */
export async function bulk() {
  const directory = await mkdtemp(join(tmpdir(), "codecell-bench-"));
  await writeFile(join(directory, "data"), Buffer.alloc(size, 7));
  const policy = { fs: { mounts: [{ source: directory, target: "/data" }] }, proc: { memory: "1GiB" } };
  const { chmod } = await import("node:fs/promises");
  await chmod(directory, 0o755);
  const codecell = await openProcess(policy);
  try {
    const session = await codecell.openSession();
    const data = Buffer.alloc(size, 7);
    const variants = {
      file: () => timed(() => session.run("blob = open('/data/data', 'rb').read()")),
      variable: () => timed(() => session.set("blob", data)),
    };
    for (const measure of Object.values(variants)) await measure();
    const figures = await interleave(variants, 8);
    const figure = figures.variable / figures.file;
    return [
      row(
        "100 MB into a variable / reading the file",
        figure,
        { atMost: 2.5 },
        `${ms(figures.variable)} / ${ms(figures.file)}`,
      ),
    ];
  } finally {
    await codecell.close();
    await rm(directory, { recursive: true });
  }
}

/** Compares 10 MB of output truncated to 64 KiB with sending all of it. */
export async function output() {
  const truncated = await openProcess({ proc: { output: "64KiB" } });
  const all = await openProcess({ proc: { output: "16MiB" } });
  try {
    const [short, long] = [await truncated.openSession(), await all.openSession()];
    const code = "import sys\nfor _ in range(1000): sys.stdout.write('x' * 9999 + '\\n')";
    const variants = {
      truncated: () => timed(() => short.run(code)),
      all: () => timed(() => long.run(code)),
    };
    for (const measure of Object.values(variants)) await measure();
    const figures = await interleave(variants, 15);
    return [
      row(
        "10 MB of output, truncated / in full",
        figures.truncated / figures.all,
        { atMost: 0.5 },
        `${ms(figures.truncated)} / ${ms(figures.all)}`,
      ),
    ];
  } finally {
    await Promise.all([truncated.close(), all.close()]);
  }
}
