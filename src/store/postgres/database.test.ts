import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { silentLogger } from "../../lib/log/logger.ts";
import { Database } from "./database.ts";

/** A message of PostgreSQL: its kind, its length, its body. */
function message(kind: string, ...parts: readonly (number | string)[]): Buffer {
  const body = Buffer.concat(
    parts.map((part) => (typeof part === "string" ? Buffer.from(part) : Buffer.from([0, 0, 0, part]))),
  );
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from(kind), length, body]);
}

describe("opening a database", () => {
  let server: Server | undefined;
  afterEach(() => {
    server?.close();
    vi.unstubAllEnvs();
  });

  async function serve(onConnection: (socket: Socket) => void): Promise<string> {
    server = createServer(onConnection).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as { port: number };
    return `postgres://me@127.0.0.1:${port}/x`;
  }

  test("without the password that the server asks for fails with the ways to give it, and closes the connection", async () => {
    vi.stubEnv("PGPASSWORD", undefined);
    vi.stubEnv("PGPASSFILE", "/none");
    let closed: Promise<unknown> | undefined;
    const url = await serve((socket) => {
      closed = once(socket, "close");
      socket.once("data", () => {
        socket.write(message("R", 10, "SCRAM-SHA-256\0\0"));
        socket.once("data", (first) => {
          const nonce = /r=(\S+)/.exec(first.toString())?.[1];
          socket.write(message("R", 11, `r=${nonce}more,s=c2FsdA==,i=4096`));
        });
      });
    });
    await expect(Database.open(url)).rejects.toMatchObject({
      code: "service_unavailable",
      message: expect.stringContaining("asks for a password, and none was given"),
      hint: expect.stringContaining("PGPASSWORD"),
    });
    await closed;
  });

  test("with ~/.pgpass sends its password, and Node prints no warning", async () => {
    const home = await mkdtemp(join(tmpdir(), "cc-pgpass-"));
    onTestFinished(() => rm(home, { recursive: true, force: true }));
    vi.stubEnv("PGPASSWORD", undefined);
    vi.stubEnv("PGPASSFILE", join(home, "passwords"));
    const warnings: Error[] = [];
    const warned = (warning: Error) => void warnings.push(warning);
    process.on("warning", warned);
    onTestFinished(() => void process.off("warning", warned));
    let sent = "";
    const url = await serve((socket) => {
      socket.once("data", () => {
        socket.write(message("R", 3));
        socket.once("data", (data) => {
          sent = data.subarray(5, -1).toString();
          socket.end(message("E", "SFATAL\0C28P01\0Mno\0\0"));
        });
      });
    });
    await writeFile(join(home, "passwords"), `127.0.0.1:${new URL(url).port}:x:me:from the file\n`, { mode: 0o600 });
    await expect(Database.open(url)).rejects.toMatchObject({ hint: expect.stringContaining("~/.pgpass") });
    await new Promise((resolve) => setImmediate(resolve)); // warnings are told later
    expect([sent, warnings]).toEqual(["from the file", []]);
  });

  test("of a server without TLS fails with the fix if the URL wants TLS", async () => {
    const url = await serve((socket) => void socket.once("data", () => socket.write("N")));
    await expect(Database.open(`${url}?sslmode=require`)).rejects.toMatchObject({
      code: "service_unavailable",
      message: expect.stringContaining("does not offer encrypted connections"),
    });
  });

  test("with a certificate that cannot be read names the file", async () => {
    const open = Database.open("postgres://127.0.0.1/x?sslmode=verify-full&sslrootcert=/none.pem");
    await expect(open).rejects.toMatchObject({ code: "usage", message: expect.stringContaining("/none.pem") });
  });
});

describe("a transaction", () => {
  const ready = (state: "I" | "T") => message("Z", state);
  const encodingRow = Buffer.concat([
    message("T", "\0\u0001encoding\0", 0, "\0\0", 25, "\0\0", 0, "\0\0"),
    message("D", "\0\u0001", 4, "UTF8"),
    message("C", "SELECT 1\0"),
    ready("I"),
  ]);

  test("whose server restarts between two statements fails, and leaves the process and the pool usable", async () => {
    const sockets: Socket[] = [];
    const server = createServer((socket) => {
      sockets.push(socket);
      socket.once("data", () => {
        socket.write(Buffer.concat([message("R", 0), ready("I")]));
        socket.on("data", (data) => {
          const isBegin = data.subarray(5, -1).toString() === "begin";
          socket.write(isBegin ? Buffer.concat([message("C", "BEGIN\0"), ready("T")]) : encodingRow);
        });
      });
    }).listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await once(server, "listening");
    const { port } = server.address() as { port: number };
    const warnings: string[] = [];
    const logger = { ...silentLogger, warn: (text: string) => void warnings.push(text) };
    await using database = await Database.open(`postgres://me@127.0.0.1:${port}/x`, { logger });
    const interrupted = database.transaction(async (queries) => {
      const broke = vi.waitUntil(() => warnings.length > 0);
      sockets[0]?.end(message("E", "SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0"));
      await broke;
      return await queries.query("select 1");
    });
    await expect(interrupted).rejects.toMatchObject({ code: "service_unavailable" });
    expect(await database.query("select 1")).toEqual([{ encoding: "UTF8" }]);
    expect(sockets).toHaveLength(2);
  });
});
