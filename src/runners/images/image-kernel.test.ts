import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { prepareImageKernel } from "./image-kernel.ts";
import type { ImageCommand } from "./run-in-image.ts";

const facts = { executable: "/usr/bin/python3", version: [3, 12, 1], path: ["/usr/lib/python3.12"] };

let runtimeDir: string;
beforeEach(async () => {
  runtimeDir = await mkdtemp(join(tmpdir(), "cc-image-"));
});
afterEach(() => rm(runtimeDir, { recursive: true }));

/** A fake image that records how often it is examined. */
function fakeImage() {
  const examined: string[] = [];
  const run = async ({ kernelDirectory }: ImageCommand) => {
    examined.push(await readFile(join(kernelDirectory, "cell.bpf"), "utf8"));
    const stdout = JSON.stringify({ ...facts, bundle: Buffer.from("bytecode").toString("base64") });
    return { stdout, diagnostics: "", exitCode: 0, timedOut: false, reason: undefined };
  };
  const prepare = (id: string, uid: number, filter = "filter") =>
    prepareImageKernel({
      ...{ image: { id, name: "python:odd" }, uid, run, runtimeDir },
      filters: { "cell.bpf": Buffer.from(filter) },
    });
  return { examined, prepare };
}

test("an image is examined once per content, user and filter, and the host writes the compiled kernel", async () => {
  const { examined, prepare } = fakeImage();
  const first = await prepare("sha256:1", 70_001);
  expect(first).toMatchObject({ python: "/usr/bin/python3", version: [3, 12, 1], path: ["/usr/lib/python3.12"] });
  expect(await readFile(join(first.directory, "bundle"), "utf8")).toBe("bytecode");
  expect(await prepare("sha256:1", 70_001)).toEqual(first);
  expect(examined).toEqual(["filter"]);
  const others = [
    await prepare("sha256:2", 70_001),
    await prepare("sha256:1", 70_002),
    await prepare("sha256:1", 70_001, "other"),
  ];
  expect(examined).toEqual(["filter", "filter", "filter", "other"]);
  expect(new Set([first, ...others].map((kernel) => kernel.directory)).size).toBe(4);
});

test("a kernel that was deleted from the disk is compiled again", async () => {
  const { examined, prepare } = fakeImage();
  const { directory: kernel } = await prepare("sha256:1", 70_001);
  await rm(kernel, { recursive: true });
  expect((await prepare("sha256:1", 70_001)).directory).toBe(kernel);
  expect(examined).toHaveLength(2);
});
