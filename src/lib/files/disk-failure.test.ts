import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { CodecellError } from "../errors.ts";
import { diskFailure } from "./disk-failure.ts";
import { takeLock } from "./liveness-lock.ts";
import { makeDirectories } from "./make-directories.ts";

const place = mkdtempSync(join(tmpdir(), "codecell-disk-"));
afterAll(() => rmSync(place, { recursive: true, force: true }));
const file = join(place, "file");
writeFileSync(file, "");

function thrownBy(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return undefined;
}

test("diskFailure reports a file where a directory is needed", () => {
  const below = diskFailure(thrownBy(() => mkdirSync(join(file, "below"))));
  expect(below).toMatchObject({ code: "disk_failed", message: expect.stringContaining("is a file, not a directory") });
  const itself = diskFailure(thrownBy(() => mkdirSync(file)));
  expect(itself?.message).toBe(`${file} cannot be used: there is a file where a directory is needed`);
  expect(itself?.hint).toContain("--state-dir");
});

test("diskFailure reports a directory in which a lock cannot be created", async () => {
  const directory = join(place, "gone"); // the error is the same as for a directory that this user may not write
  const error = diskFailure(await takeLock(join(directory, "tokens.json.lock")).catch((thrown) => thrown));
  expect(error?.message).toBe(`${directory} cannot be used: permission denied`);
});

test("diskFailure reports a full disk, also when the OS names no path", () => {
  const full = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC", syscall: "write" });
  expect(diskFailure(full)?.message).toBe("there is no space left on the disk");
});

// root may write everywhere except on a read-only disk
test.skipIf(process.getuid?.() === 0)(
  "diskFailure reports a parent directory that this user may not write",
  async () => {
    const closed = join(place, "closed");
    mkdirSync(closed, { mode: 0o500 });
    const error = diskFailure(
      await makeDirectories(join(closed, "state", "codecell"), 0o700).catch((thrown) => thrown),
    );
    expect(error?.message).toBe(`${join(closed, "state")} cannot be used: permission denied`);
  },
);

test.runIf(process.platform === "linux")("diskFailure reports a path where no directory can be created", async () => {
  const error = diskFailure(await makeDirectories("/proc/none/codecell", 0o700).catch((thrown) => thrown));
  expect(error?.message).toBe("/proc/none cannot be used: no directory can be created there");
});

test("diskFailure does not report a missing file", () => {
  expect(diskFailure(thrownBy(() => readFileSync(join(place, "none"))))).toBeUndefined();
});

test("diskFailure does not report other failures", async () => {
  expect(diskFailure(new Error("x"))).toBeUndefined();
  expect(diskFailure(new CodecellError("usage", "x"))).toBeUndefined();
  expect(diskFailure(thrownBy(() => new URL("x")))).toBeUndefined();
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const [refused] = await once(createServer().listen(port, "127.0.0.1"), "error");
  expect(diskFailure(Object.assign(refused as Error, { code: "EACCES" }))).toBeUndefined();
  server.close();
});

test("diskFailure names the file that a copy could not write, not the one that it reads", () => {
  const facts = { code: "ENOSPC", syscall: "copyfile", path: "/installed/code.js", dest: "/full/code.js" };
  const error = Object.assign(new Error("ENOSPC"), facts);
  expect(diskFailure(error)?.message).toBe("/full/code.js cannot be used: there is no space left on the disk");
  expect(diskFailure(Object.assign(new Error("EACCES"), { ...facts, code: "EACCES" }))?.message).toContain(
    "/installed",
  );
});
