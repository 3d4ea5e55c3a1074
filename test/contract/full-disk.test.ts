import { readdirSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { sandboxFor } from "../../src/service/sandbox-for.ts";
import { callTool } from "../../src/service/tools/call-tool.ts";
import { uploadFileTool } from "../../src/service/tools/upload-file.ts";
import { Codecell } from "../../src/sessions/codecell.ts";
import type { Session } from "../../src/sessions/session.ts";
import { newStateDir, removeStateDir, runIn } from "../support/managers.ts";
import { hasSrtPackage, testedSrtRunner } from "../support/srt.ts";
import { isThorough } from "../support/thorough.ts";
import { isMissing, type Tier, testsContainersOnly, tiersByRequest } from "../support/tiers.ts";

const mebibyte = 2 ** 20;
const policy = { proc: { timeout: "20s", memory: "512MiB", disk: "4MiB" } } as const;
const write = (name: string, mebibytes: number) =>
  `for n in range(${mebibytes}): open(f"${name}{n}", "wb").write(bytes(1 << 20))`;

const runners: readonly { readonly name: string; readonly make: Tier["make"]; readonly skip: boolean }[] = [
  ...(await Promise.all(tiersByRequest.map(async (tier) => ({ ...tier, skip: await isMissing(tier) })))),
  ...(testsContainersOnly ? [] : [{ name: "srt", make: () => testedSrtRunner(), skip: !(await hasSrt()) }]),
];

async function hasSrt(): Promise<boolean> {
  await using runner = testedSrtRunner();
  return hasSrtPackage && (await runner.probe({ isPatient: true })).available;
}

// The host measures the workspace, with the same code for both layouts of the process runner.
const measured = runners.filter(({ name }) => name !== "wasm" && (isThorough || name !== "process direct"));
for (const { name, make, skip } of measured) {
  describe.skipIf(skip)(`a workspace over proc.disk on ${name}`, () => {
    let stateDir: string;
    let codecell: Codecell;
    let session: Session;
    beforeAll(async () => {
      stateDir = await newStateDir();
      codecell = await Codecell.open({ policy, runners: [make()], stateDir });
    });
    afterAll(async () => {
      await codecell?.[Symbol.asyncDispose]();
      await removeStateDir(stateDir);
    });
    beforeEach(async () => {
      session = await codecell.session();
    });
    afterEach(() => session.close({ forget: true }));

    /** Takes the session's cell away, and makes its files larger than the limit. */
    async function overLimit(sizes = [1, 1, 1, 1, 1, 1]) {
      await runIn(session, "x = 1");
      await session.managed.cell.release();
      const [workspace = "", ...others] = readdirSync(join(stateDir, "workspaces"));
      expect(others).toEqual([]);
      for (const [at, size] of sizes.entries()) {
        const path = join(stateDir, "workspaces", workspace, `old${at}`);
        await writeFile(path, Buffer.alloc(size * mebibyte, 1), { mode: 0o666 });
      }
    }

    test("starts: its files can be listed, read and deleted, and it can be reset", async () => {
      await overLimit();
      const first = await runIn(session, "1 + 1");
      expect(first).toMatchObject({ status: "ok", value: "2", state: "kept" });
      expect(first.notes).toContainEqual(expect.stringMatching(/more than proc\.disk \(4MiB\); delete files/));
      expect((await session.listFiles()).files).toHaveLength(6);
      expect((await (await session.files()).read("old0")).size).toBe(mebibyte);
      await session.reset();
      for (const number of [0, 1, 2]) await session.removeFile(`old${number}`);
      expect(await runIn(session, "open('small', 'w').write('fits')")).toMatchObject({ status: "ok", notes: [] });
    });

    test("can be cleared by code", async () => {
      await overLimit();
      expect(await runIn(session, "import os\nfor n in range(6): os.remove(f'old{n}')")).toMatchObject({
        status: "ok",
      });
      expect(await runIn(session, "open('small', 'w').write('fits')")).toMatchObject({ status: "ok", notes: [] });
    });

    test("a run that makes it larger ends, and the result says what was lost and what to do", async () => {
      await overLimit();
      const { state, notes } = await runIn(session, write("new", 2));
      expect(state).toBe("lost");
      expect(notes.join("\n")).toMatch(/its files exceed proc\.disk \(4MiB\)[\s\S]*delete files/);
      expect(await runIn(session, "1 + 1")).toMatchObject({ status: "ok", value: "2" });
    });

    test("a run that fills it says so, and never that all is well", async () => {
      const filled = await runIn(session, `x = 1\n${write("new", 6)}`);
      expect(filled.notes.join("\n")).toMatch(/proc\.disk \(4MiB\)/);
      const next = await runIn(session, "x");
      // what the result said about the state is true
      expect(next).toMatchObject(
        filled.state === "kept" ? { status: "ok", value: "1" } : { error: { name: "NameError" } },
      );
      expect((await session.listFiles()).files.length).toBeGreaterThan(0);
    });

    test("far over the limit is read-only, until files are deleted from outside", async () => {
      await overLimit([130, 130, 1, 1]);
      const refused = await runIn(session, "open('small', 'w').write('x')");
      expect(refused).toMatchObject({ status: "error", error: { message: expect.stringMatching(/Read-only|denied/) } });
      expect(refused.notes).toContainEqual(expect.stringMatching(/read-only; delete files/));
      await expect(session.upload("more", Buffer.from("x"))).rejects.toMatchObject({ code: "too_large" });
      for (const large of ["old0", "old1"]) await session.removeFile(large);
      const written = await runIn(session, "open('small', 'w').write('fits')");
      expect(written).toMatchObject({ status: "ok" });
      expect(written.notes.join("\n")).not.toContain("proc.disk");
    });

    test("takes no upload beyond the limit, but one that replaces a file of its size", async () => {
      await session.upload("a", Buffer.alloc(3 * mebibyte, 1));
      await expect(session.upload("b", Buffer.alloc(2 * mebibyte, 1))).rejects.toMatchObject({
        code: "too_large",
        message: "the workspace has no room for b: proc.disk is 4MiB",
        hint: "delete files that the session no longer needs",
      });
      const sandbox = sandboxFor(codecell);
      const call = (args: object) =>
        callTool(uploadFileTool, sandbox, {
          args: { session_id: session.id, ...args },
          context: { signal: new AbortController().signal },
        });
      const [told] = (await call({ path: "b", content: "x".repeat(2 * mebibyte) })).content;
      expect(told).toMatchObject({ text: expect.stringContaining("next: make room with delete=true or in code") });
      expect(told).not.toMatchObject({ text: expect.stringContaining("artifacts rm") });
      await session.upload("a", Buffer.alloc(3 * mebibyte, 2));
      expect((await session.listFiles()).files).toMatchObject([{ path: "a", size: 3 * mebibyte }]);
    });
  });
}

for (const { name, make, skip } of runners.filter((runner) => runner.name === "wasm")) {
  describe.skipIf(skip)(`a full workspace on ${name}`, () => {
    test("fails the write, and the session goes on: files can be listed, read and deleted", async () => {
      const stateDir = await newStateDir();
      await using codecell = await Codecell.open({ policy, runners: [make()], stateDir });
      const session = await codecell.session("full");
      const filled = await runIn(session, `x = 1\n${write("new", 6)}`);
      expect(filled).toMatchObject({
        status: "error",
        state: "kept",
        error: { message: expect.stringMatching("space") },
      });
      expect(await runIn(session, "x")).toMatchObject({ status: "ok", value: "1" });
      expect((await (await session.files()).read("new0")).size).toBe(mebibyte);
      await session.removeFile("new0");
      expect(await runIn(session, "open('small', 'wb').write(bytes(1 << 19))")).toMatchObject({ status: "ok" });
      await removeStateDir(stateDir);
    });
  });
}
