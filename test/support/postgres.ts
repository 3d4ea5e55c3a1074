import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { chmod, chown, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client } from "pg";

const run = promisify(execFile);

/** The programs of the newest PostgreSQL of this machine; Debian puts no server on PATH. */
const programs = ((root) =>
  (existsSync(root) ? readdirSync(root) : [])
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => join(root, version, "bin"))
    .find((directory) => existsSync(join(directory, "postgres"))))("/usr/lib/postgresql");

/** Why tests with a real PostgreSQL are skipped here; undefined: they run. CI must have one. */
export const noPostgres = programs === undefined ? "PostgreSQL is not installed (apt install postgresql)" : undefined;
if (noPostgres !== undefined && process.env.REQUIRE_RUNNERS) throw new Error(noPostgres);

/** PostgreSQL refuses to run as root: then it runs as nobody. */
const nobody = 65_534;
const isRoot = process.getuid?.() === 0;
const user = isRoot ? ["--reuid=nobody", "--regid=nogroup", "--clear-groups"] : [];
/** It ends with the tests, also if those are killed. */
const asServer = ["setpriv", ...user, "--pdeathsig=QUIT", "--"];

/** A PostgreSQL server of a test: in a directory of its own, on a Unix socket and a loopback port. */
export interface PostgresServer extends AsyncDisposable {
  readonly port: number;
  /** Makes an empty database and returns its URL (TCP; user `tester`, no password). */
  newDatabase(): Promise<string>;
  /** The same database over the Unix socket. */
  socketUrl(url: string): string;
  /** Runs a statement as the owner. */
  query(url: string, sql: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  /** Ends it like a power cut: every process of it, at once. */
  kill(): Promise<void>;
  /** Stops it in an orderly way; connections are ended. */
  stop(): Promise<void>;
  /** Starts it again on the same port with the same data. */
  start(): Promise<void>;
}

/** Starts a server. It takes about 1.5 s, so tests of one file share it; each test gets a database of its own. */
export async function startPostgres(): Promise<PostgresServer> {
  if (programs === undefined) throw new Error(noPostgres);
  const directory = await mkdtemp("/tmp/cc-pg-"); // short: it holds a Unix socket
  await chmod(directory, 0o755);
  if (isRoot) await chown(directory, nobody, nobody);
  const data = join(directory, "data");
  const [initdb, postgres] = [join(programs, "initdb"), join(programs, "postgres")];
  // The environment is empty: PGDATA and the like of this machine must not matter.
  const options = { cwd: directory, env: { PATH: process.env.PATH, LC_ALL: "C", TMPDIR: directory } };
  const [first = initdb, ...rest] = [
    ...asServer,
    initdb,
    "-D",
    data,
    "-U",
    "tester",
    "-A",
    "trust",
    "-N",
    "-E",
    "UTF8",
  ];
  await run(first, rest, options);
  const port = await freePort();
  let server: ChildProcess | undefined;
  let exited: Promise<void> = Promise.resolve();
  let count = 0;

  const start = async () => {
    const settings = ["fsync=off", "full_page_writes=off", "max_connections=200"];
    settings.push("listen_addresses=127.0.0.1", `unix_socket_directories=${directory}`, "shared_buffers=32MB");
    const flags = settings.flatMap((one) => ["-c", one]);
    const [command = postgres, ...args] = [...asServer, postgres, "-D", data, "-p", String(port), ...flags];
    const child = spawn(command, args, { ...options, stdio: ["ignore", "ignore", "pipe"] });
    let log = "";
    exited = new Promise((resolve) => child.once("exit", () => resolve()));
    await new Promise<void>((resolve, reject) => {
      child.stderr?.setEncoding("utf8").on("data", (text: string) => {
        log = `${log}${text}`.slice(-10_000);
        if (/database system is ready to accept connections/.test(log)) resolve();
      });
      child.once("error", reject);
      child.once("exit", () => reject(new Error(`PostgreSQL did not start: ${log}`)));
    });
    server = child;
  };
  const end = async (signal: NodeJS.Signals) => {
    const child = server;
    server = undefined;
    if (child?.pid === undefined) return;
    // A power cut ends all of them: the processes of connections are children, each in a group of its own.
    const children = signal === "SIGKILL" ? await childrenOf(child.pid) : [];
    process.kill(child.pid, signal);
    for (const pid of children) killIfThere(pid);
    await exited;
  };
  const urlOf = (database: string) => `postgres://tester@127.0.0.1:${port}/${database}`;
  await start();
  const connected = async (url: string) => {
    const client = new Client({ connectionString: url });
    await client.connect();
    return client;
  };
  return {
    port,
    async newDatabase() {
      const name = `test_${++count}`;
      const client = await connected(urlOf("postgres"));
      await client.query(`create database ${name}`);
      await client.end();
      return urlOf(name);
    },
    socketUrl: (url) => `postgres:///${new URL(url).pathname.slice(1)}?host=${directory}&port=${port}&user=tester`,
    async query(url, sql, values = []) {
      const client = await connected(url);
      try {
        return (await client.query(sql, values)).rows;
      } finally {
        await client.end();
      }
    },
    kill: () => end("SIGKILL"),
    stop: () => end("SIGINT"),
    start,
    async [Symbol.asyncDispose]() {
      await end("SIGQUIT");
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function childrenOf(pid: number): Promise<number[]> {
  const { stdout } = await run("pgrep", ["-P", String(pid)]).catch(() => ({ stdout: "" })); // it fails if there are none
  return stdout.trim().split("\n").filter(Boolean).map(Number);
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** A port that the OS chose. Nothing else takes it in the moment until the server does: the OS goes round. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise<void>((resolve) => server.close(() => resolve()));
  if (typeof address !== "object" || address === null) throw new Error("no port");
  return address.port;
}
