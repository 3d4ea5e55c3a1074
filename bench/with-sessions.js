import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Codecell } from "../dist/sessions/codecell.js";

/** Opens a codecell with a state directory of its own, and removes both afterwards. */
export async function withSessions(options, work) {
  const stateDir = await mkdtemp(join(tmpdir(), "codecell-bench-"));
  await chmod(stateDir, 0o711); // if we are root, cells run as another user and must be able to enter
  const codecell = await Codecell.open({ ...options, stateDir });
  try {
    return await work(codecell);
  } finally {
    await codecell[Symbol.asyncDispose]();
    await rm(stateDir, { recursive: true, force: true });
  }
}
