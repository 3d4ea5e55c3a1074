import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { codecell } from "./codecell-process.ts";

// The limit for one call of `claude` is 30 s: a process that its timer keeps alive does not end in time.
test.each(["", "--uninstall"])(
  "setup claude-code %s ends at once if Claude Code is not installed",
  {
    timeout: 25_000,
  },
  async (option) => {
    const empty = await mkdtemp(join(tmpdir(), "codecell-setup-"));
    const argv = ["setup", "claude-code", ...(option ? [option] : [])];
    const { code, stdout } = await codecell(argv, { cwd: empty, env: { PATH: empty } });
    await rm(empty, { recursive: true });
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("Claude Code is not installed") });
  },
);
