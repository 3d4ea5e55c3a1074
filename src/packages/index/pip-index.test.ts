import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { configuredIndexes } from "./configured-indexes.ts";
import { indexOf } from "./pip-index.ts";

let home = "";
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "codecell-pip-"));
  await mkdir(join(home, ".config", "pip"), { recursive: true });
  await writeFile(join(home, ".config", "pip", "pip.conf"), "[global]\nindex-url = https://user.example/simple\n");
  await writeFile(join(home, "named.conf"), "[global]\nindex-url = https://named.example/simple\n");
  await writeFile(join(home, "python3"), "#!/bin/sh\necho https://built-in.example/simple\n");
  await chmod(join(home, "python3"), 0o755);
});
afterAll(() => rm(home, { recursive: true }));

const shown = async (listed: string[], environment: NodeJS.ProcessEnv) => {
  const indexes = await configuredIndexes(listed, environment);
  return (await indexes.addresses()).map((address) => address.shown);
};

describe("where packages come from", () => {
  test("the policy's list is taken as it is, and then pip's settings are not", async () => {
    const list = ["https://a.example/simple", "https://b.example/simple/"];
    const environment = { PIP_INDEX_URL: "https://pip.example/simple" };
    expect(await shown(list, environment)).toEqual(["https://a.example/simple/", "https://b.example/simple/"]);
  });

  test("without a list: a variable of pip or uv, then pip's configuration files, then pip's own default", async () => {
    const user = { HOME: home, XDG_CONFIG_DIRS: home, PATH: home };
    const variables = { ...user, UV_DEFAULT_INDEX: "corp=https://uv.example/simple" };
    expect(await shown([], { ...variables, PIP_INDEX_URL: "https://pip.example/simple" })).toEqual([
      "https://pip.example/simple/",
    ]);
    expect(await shown([], variables)).toEqual(["https://uv.example/simple/"]);
    expect(await shown([], { ...user, PIP_CONFIG_FILE: join(home, "named.conf") })).toEqual([
      "https://named.example/simple/",
    ]);
    expect(await shown([], user)).toEqual(["https://user.example/simple/"]);
    const bare = { PIP_CONFIG_FILE: "/dev/null", PATH: home, HOME: home };
    expect(await shown([], bare)).toEqual(["https://built-in.example/simple/"]);
    expect((await configuredIndexes([], bare)).identity).toEqual(["pip's built-in index"]);
  });

  test("no relative path leads to pip's settings, because projects could bring them", async () => {
    const before = process.cwd();
    process.chdir(home);
    try {
      await mkdir(join(home, "pip"));
      await writeFile(join(home, "pip", "pip.conf"), "[global]\nindex-url = https://project.example/simple\n");
      const places = [{ HOME: "" }, { HOME: "." }, { XDG_CONFIG_HOME: "" }, { XDG_CONFIG_HOME: "." }];
      for (const place of [...places, { XDG_CONFIG_DIRS: "." }]) {
        const environment = { HOME: "/nonexistent", XDG_CONFIG_DIRS: "", PATH: home, ...place };
        expect(await shown([], environment), JSON.stringify(place)).toEqual(["https://built-in.example/simple/"]);
      }
    } finally {
      process.chdir(before);
    }
  });

  test("without any of these, the error says how to name an index", async () => {
    const nothing = { PIP_CONFIG_FILE: "/dev/null", PATH: join(home, "empty"), HOME: home };
    await expect(shown([], nothing)).rejects.toMatchObject({
      ...{ code: "packages_failed", details: { reason: "index" } },
      hint: expect.stringContaining("kernel.packages.index"),
    });
  });

  test("credentials in pip's settings are not part of what is shown or recorded", async () => {
    const environment = { PIP_INDEX_URL: "https://user:s3cr3t@pip.example/simple?x=s3cr3t" };
    const indexes = await configuredIndexes([], environment);
    const [address] = await indexes.addresses();
    expect([indexes.identity, address?.shown]).toEqual([
      ["https://pip.example/simple/"],
      "https://pip.example/simple/",
    ]);
    expect(address?.authorization).toBe(`Basic ${btoa("user:s3cr3t")}`);
  });

  test("a pip.conf is read by its sections", () => {
    expect(indexOf("[list]\nindex-url=https://x.example\n")).toBeUndefined();
    expect(indexOf("[install]\nindex_url : https://i.example\n[global]\nindex-url=https://g.example\n")).toBe(
      "https://i.example",
    );
    expect(indexOf("[global]\nextra-index-url = https://e.example\n# index-url = https://c.example\n")).toBeUndefined();
  });
});
