import { chmodSync, chownSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { socketProblem, warmDirectory } from "./warm-directory.ts";

test("without XDG_RUNTIME_DIR there is no directory for sockets, except for root", () => {
  expect(warmDirectory(1000, undefined)).toBeUndefined();
  expect(warmDirectory(1000, "relative")).toBeUndefined();
  expect(warmDirectory(1000, "/run/user/1000")).toBe("/run/user/1000/codecell/warm");
  expect(warmDirectory(0, "")).toBe("/run/codecell/warm");
});

describe("a socket of a holder", () => {
  let runtime: string;
  let directory: string;
  let socket: string;
  let server: Server;

  beforeEach(async () => {
    runtime = mkdtempSync(join(tmpdir(), "codecell-sockets-"));
    directory = join(runtime, "warm");
    mkdirSync(directory, { mode: 0o700 });
    socket = join(directory, "key.sock");
    server = createServer();
    await new Promise<void>((resolve) => server.listen(socket, resolve));
    chmodSync(socket, 0o600);
  });

  afterEach(() => {
    server.close();
    rmSync(runtime, { recursive: true });
  });

  test("is used if it and its directories are private", () => {
    expect(socketProblem(socket)).toBeUndefined();
  });

  test("is absent if it or its directory does not exist", () => {
    expect(socketProblem(join(directory, "other.sock"))).toBe("absent");
    expect(socketProblem(join(runtime, "nowhere", "key.sock"))).toBe("absent");
  });

  test("is not used if another user may write to it, to its directory or beside that", () => {
    for (const [path, open, closed] of [
      [socket, 0o620, 0o600],
      [directory, 0o750, 0o700],
      [runtime, 0o720, 0o700],
    ] as const) {
      chmodSync(path, open);
      expect(socketProblem(socket), path).toBe("foreign");
      chmodSync(path, closed);
    }
  });

  test("is not used through a link, wherever the link leads", () => {
    symlinkSync(socket, join(directory, "link.sock"));
    expect(socketProblem(join(directory, "link.sock"))).toBe("foreign");
    renameSync(directory, join(runtime, "moved"));
    symlinkSync(join(runtime, "moved"), directory);
    expect(socketProblem(socket)).toBe("foreign");
  });

  test("is not used if it belongs to another user", () => {
    expect(socketProblem(socket, (process.getuid?.() ?? 0) + 1)).toBe("foreign");
  });

  test.skipIf(process.getuid?.() !== 0)("is not used by root if another user made it", () => {
    chownSync(socket, 12_345, 12_345);
    expect(socketProblem(socket)).toBe("foreign");
  });
});
