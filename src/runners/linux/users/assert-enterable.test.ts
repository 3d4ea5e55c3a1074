import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { assertEnterable } from "./assert-enterable.ts";
import type { CellUsers } from "./cell-users.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "enterable-")); // closed to others
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const users = {} as CellUsers;

test("a closed runtime directory is refused where cells have other users, with what to do", async () => {
  await expect(assertEnterable(directory, users)).rejects.toMatchObject({
    code: "cell_start_failed",
    message: `cells cannot reach ${directory}: ${directory} is closed to other users`,
    hint: `run \`chmod o+x ${directory}\`, or choose another runtime directory`,
  });
  await chmod(directory, 0o711);
  await assertEnterable(directory, users);
});

test("a closed runtime directory is fine where cells have codecell's own user", async () => {
  await assertEnterable(directory, undefined);
});
