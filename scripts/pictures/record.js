// Records the terminal picture: runs each command of the story in a real terminal and stores its output.
import { execFile } from "node:child_process";
import { chmod, copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const launcher = fileURLToPath(new URL("../../bin/codecell.js", import.meta.url));
const attack = fileURLToPath(new URL("attack.py", import.meta.url));
const columns = 96;
/** A path that is the same on every machine, because attack.py and the picture contain it. */
const directory = "/tmp/agent";
const commands = ["cat .env", "cat attack.py", "codecell run --receipt attack.py"];

/** The commands of the story with their real output, including escape sequences for colours. */
export async function recordAttack() {
  await mkdir(directory); // fails if it exists, because it may belong to somebody
  const tools = await mkdtemp(join(tmpdir(), "codecell-pictures-"));
  try {
    await chmod(tools, 0o711); // if codecell runs as root, the cell has another user
    await chmod(directory, 0o755);
    await mkdir(join(tools, "bin"));
    await writeFile(join(tools, "bin", "codecell"), `#!/bin/sh\nexec "${process.execPath}" "${launcher}" "$@"\n`, {
      mode: 0o755,
    });
    await writeFile(join(directory, ".env"), "DATABASE_PASSWORD=correct-horse-battery-staple\n");
    await copyFile(attack, join(directory, "attack.py"));
    const steps = [];
    for (const command of commands) steps.push({ command, output: await inTerminal(command, tools) });
    assertStopped(steps.at(-1).output);
    return { columns, steps };
  } finally {
    await rm(directory, { recursive: true });
    await rm(tools, { recursive: true });
  }
}

function assertStopped(output) {
  const stopped = output.match(/ stopped: /g)?.length ?? 0;
  if (stopped !== 4 || / got /.test(output)) throw new Error(`an attack was not stopped:\n${output}`);
}

/** `script` gives the command a terminal, so that it prints as it does for a user. */
async function inTerminal(command, tools) {
  const env = {
    PATH: `${tools}/bin:/usr/bin:/bin`,
    TERM: "xterm-256color",
    LANG: "C.UTF-8",
    HOME: tools,
    XDG_STATE_HOME: tools,
  };
  const argv = ["--quiet", "--return", "--command", `stty cols ${columns}; ${command}`, "/dev/null"];
  const { stdout } = await promisify(execFile)("script", argv, { cwd: directory, env, timeout: 60_000 });
  return stdout.replaceAll("\r\n", "\n").trimEnd();
}
