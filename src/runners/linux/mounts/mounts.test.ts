import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { bindMount, cannotMount } from "../../../../test/support/host-mounts.ts";
import { parsePolicy } from "../../../policy/file/parse-policy.ts";
import { resolveMounts } from "./mounts.ts";

let root: string;
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "codecell-mounts-")));
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function put(...paths: string[]): Promise<void> {
  for (const path of paths) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), "");
  }
}

function resolved(source: string, deny: string[] = []) {
  const policy = parsePolicy({ fs: { mounts: [{ source: join(root, source), target: "/data" }] } });
  return resolveMounts({ ...policy, fs: { ...policy.fs, deny } });
}
const covered = async (source: string, deny: string[] = []) =>
  (await resolved(source, deny)).flatMap((mount) => mount.deny.map(({ path }) => path));

test("a mount of a settings directory covers the credentials in it", async () => {
  await put(".config/gcloud/credentials.db", ".config/app/a.txt");
  expect(await covered(".config")).toEqual(["gcloud"]);
});

test("a host path of fs.deny is covered below a mount, and refused as one", async () => {
  await put("project/keys/aws.txt", "project/main.py");
  expect(await covered("project", [`/${root}/project/keys`])).toEqual(["keys"]);
  await expect(resolved("project/keys", [`/${root}/project/keys`])).rejects.toMatchObject({ code: "policy_refused" });
});

describe.skipIf(cannotMount)("a bind mount", () => {
  test("of a denied directory is refused as a source, and covered below one", async () => {
    await put(".aws/credentials", "project/main.py", "project/data/x");
    await using _bound = await bindMount(join(root, ".aws"), join(root, "project/data"));
    await expect(resolved("project/data")).rejects.toThrow(/bind mount.*denied by \.aws/);
    expect(await covered("project")).toEqual(["data"]);
  });

  test("of a directory with denied entries covers those", async () => {
    await put(".config/gcloud/credentials.db", ".config/app/a.txt", "project/settings/x");
    await using _bound = await bindMount(join(root, ".config"), join(root, "project/settings"));
    expect(await covered("project")).toEqual(["settings/gcloud"]);
    expect(await covered("project/settings")).toEqual(["gcloud"]);
  });

  test("of an allowed directory is mounted with the rest", async () => {
    await put("other/a.txt", "project/data/x");
    await using _bound = await bindMount(join(root, "other"), join(root, "project/data"));
    expect(await covered("project")).toEqual([]);
    expect((await resolved("project/data")).map(({ source }) => source)).toEqual([join(root, "project/data")]);
  });
});
