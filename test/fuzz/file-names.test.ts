import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join, posix, resolve, win32 } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { artifactNameProblem } from "../../src/artifacts/artifact-name.ts";
import { CodecellError } from "../../src/lib/errors.ts";
import { resolveHostPath } from "../../src/policy/paths/host-path.ts";
import { patienceMs, tries } from "../support/fuzz/long-mode.ts";
import { openTestWorkspace, type TestWorkspace } from "../support/test-workspace.ts";

const part = fc.oneof(
  fc.constantFrom(
    "..",
    ".",
    "",
    "...",
    "a",
    "dir",
    "out",
    "up",
    "loop",
    "canary",
    "workspace",
    "~",
    "%2e%2e",
    "..\\",
    "\0",
  ),
  fc.constantFrom(
    "\u202e",
    "．．",
    "․․",
    "C:",
    "con",
    "proc",
    "self",
    "root",
    "x".repeat(256),
    "\ud800",
    "é",
    "e\u0301",
    "a\n",
  ),
  fc.string({ unit: "binary", maxLength: 6 }),
);
const name = fc
  .tuple(
    fc.constantFrom("", "/", "./", "../", "//", "dir/"),
    fc.array(part, { maxLength: 5 }),
    fc.constantFrom("", "/", "/..", "\0"),
  )
  .map(([before, parts, after]) => before + parts.join("/") + after);

describe("the name of a file in a workspace", () => {
  test(
    "that is accepted stays below its root on every system, and means the same after it is normalised",
    () => {
      const property = fc.property(name, (text) => {
        if (artifactNameProblem(text) !== undefined) return;
        expect(resolve("/srv/ws", text).startsWith("/srv/ws/")).toBe(true);
        expect(posix.normalize(text)).toBe(text);
        expect(win32.normalize(text).split("\\")).not.toContain("..");
        expect(text).not.toMatch(/\p{Cc}|[\u202a-\u202e]/u);
        expect(Buffer.from(text, "utf8").toString("utf8")).toBe(text);
      });
      fc.assert(property, tries(3_000));
    },
    patienceMs,
  );

  test(
    "in a policy becomes an absolute, normal path or a problem",
    () => {
      const property = fc.property(name, (text) => {
        const found = resolveHostPath(text, { baseDir: "/srv/base", homeDir: "/home/someone" });
        if ("problem" in found) return;
        expect(posix.isAbsolute(found.path)).toBe(true);
        expect(posix.normalize(found.path)).toBe(found.path);
      });
      fc.assert(property, tries(2_000));
    },
    patienceMs,
  );
});

describe("the files of a workspace with links that lead out of it", () => {
  let place: TestWorkspace;
  beforeEach(async () => {
    place = await openTestWorkspace();
    await mkdir(join(place.root, "dir"));
    await writeFile(join(place.root, "dir/a"), "inside");
    await symlink(place.base, join(place.root, "up"));
    await symlink("../canary", join(place.root, "out"));
    await symlink("loop", join(place.root, "loop"));
    await symlink("/", join(place.root, "root"));
  });
  afterEach(() => place[Symbol.asyncDispose]());

  test(
    "are the only ones that any name reads, writes or removes",
    async () => {
      const { files, base, canary } = place;
      const known = (await readdir(base)).sort();
      const operation = fc.constantFrom("read", "write", "stat", "remove", "list");
      const property = fc.asyncProperty(name, operation, async (text, kind) => {
        try {
          if (kind === "read") expect(Buffer.from((await files.read(text)).data).toString()).not.toContain("CANARY");
          if (kind === "write") await files.write(text, Buffer.from("written"), { maxBytes: 100 });
          if (kind === "stat") await files.stat(text);
          if (kind === "remove" && !["out", "up", "loop", "root"].includes(text)) await files.remove(text);
          if (kind === "list") {
            const paths = (await files.list({ prefix: text })).files.map(({ path }) => path);
            // a write replaces a link by a file of that name, but nothing is ever below one
            expect(paths.filter((path) => /^(?:up|loop|root)\//.test(path))).toEqual([]);
          }
        } catch (error) {
          if (!(error instanceof CodecellError)) throw error;
          expect(["file_missing", "file_refused", "too_large", "usage"]).toContain(error.code);
          expect(error.message).not.toContain(base);
        }
        expect(await readFile(canary, "utf8")).toBe("CANARY");
        expect((await readdir(base)).sort()).toEqual(known);
      });
      await fc.assert(property, tries(500));
    },
    patienceMs,
  );
});
