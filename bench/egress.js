import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { EgressProcess } from "../dist/egress/process/egress-process.js";
import { parsePolicy } from "../dist/index.js";
import { PassedListener } from "../dist/lib/passed-listener.js";
import { processRunner } from "../dist/runners/process/runner.js";
import { LiveSessions } from "../dist/sessions/live-sessions.js";
import { interleave, median, ms, row, timed } from "./harness.js";

const beside = (name) => fileURLToPath(new URL(name, import.meta.url));
const python = "/usr/bin/python3";
const size = 256 * 1024 * 1024;
const host = "origin.example";
const rounds = 5;
const newConnections = 60;
/** A session may have 64 connections. One stalls, 59 are never read, and 4 download at full speed. */
const unread = 59;
const full = 4;

/** Compares cells on both carriers with the same proxy without a cell: throughput, new connections, runs in a flood. */
export async function egress() {
  const closing = [];
  try {
    const origin = spawn(python, [beside("egress-origin.py")], { stdio: ["pipe", "pipe", "inherit"] });
    closing.push(() => origin.kill("SIGKILL"));
    const target = `${host}:${Number(await once(origin.stdout, "data"))}`;
    const client = await readFile(beside("egress-client.py"), "utf8");
    const cells = {};
    for (const carrier of ["listener", "streams"]) {
      const codecell = await openCells(target, carrier);
      closing.push(() => codecell.close());
      const session = await codecell.openSession();
      await session.run(client);
      cells[carrier] = { codecell, session };
    }
    const outside = await openOutside(target, client);
    closing.push(outside.close);
    const callers = {
      outside: outside.call,
      listener: (call) => callInCell(cells.listener.session, call),
      streams: (call) => callInCell(cells.streams.session, call),
    };
    return [
      ...(await speed(callers, target)),
      ...(await newTunnels(callers, target)),
      ...(await floods(cells, target, client)),
    ];
  } finally {
    for (const close of closing.reverse()) await close();
  }
}

/** Downloads of 256 MiB. */
async function speed(callers, target) {
  const variants = each(callers, (call) => call((proxy) => `throughput(${proxy}, b"${target}", ${size})`));
  await interleave(variants, 1);
  const figures = await interleave(variants, rounds);
  const rate = (value) => `${value.toFixed(0)} MB/s`;
  const against = (carrier) => `${rate(figures[carrier])} / ${rate(figures.outside)} without a cell`;
  return [
    row(
      "download, the cell's own socket / no cell",
      figures.listener / figures.outside,
      { atLeast: 0.8 },
      against("listener"),
    ),
    row(
      "download, streams on the channel / no cell",
      figures.streams / figures.outside,
      { atLeast: 0.5 },
      against("streams"),
    ),
  ];
}

/** The time that a cell adds to a new tunnel and the first request in it. */
async function newTunnels(callers, target) {
  const variants = each(callers, async (call) =>
    median(await call((proxy) => `new_connections(${proxy}, b"${target}", ${newConnections})`)),
  );
  await interleave(variants, 1);
  const figures = await interleave(variants, rounds);
  return ["listener", "streams"].map((carrier) =>
    row(
      `ms added to a new connection, ${carrier}`,
      figures[carrier] - figures.outside,
      { atMost: 1.5 },
      `${ms(figures[carrier])} - ${ms(figures.outside)} without a cell`,
    ),
  );
}

/** Measures runs in a cell that uses all its connections, most of them without reading. */
async function floods(cells, target, client) {
  const rows = [];
  for (const [carrier, { session }] of Object.entries(cells)) {
    await session.run("x = 0");
    const before = await memory();
    let after = 0;
    const figures = await interleave(
      {
        idle: () => roundTrip(session),
        busy: async () => {
          await startFlood(session, target, client);
          await pause(500);
          const taken = await roundTrip(session);
          after = Math.max(after, await memory());
          await session.run("flooding.kill(); flooding.wait()");
          return taken;
        },
      },
      3,
    );
    rows.push(
      row(
        `a run in a flood / when idle, ${carrier}`,
        figures.busy / figures.idle,
        { atMost: 10 },
        `${ms(figures.busy)} / ${ms(figures.idle)}`,
      ),
      row(
        `MB that a flood adds to host and proxy, ${carrier}`,
        (after - before) / 1e6,
        { atMost: 200 },
        `${unread + 1} unread connections, ${full} downloads; ${(after / 1e6).toFixed(0)} MB in total`,
      ),
    );
  }
  return rows;
}

async function startFlood(session, target, client) {
  const program = `${client}\nflood(3128, b"${target}", ${unread}, ${full})`;
  const { value, error } = await session.run(`import subprocess, sys
flooding = subprocess.Popen([sys.executable, "-c", ${JSON.stringify(program)}], stdout=subprocess.PIPE)
flooding.stdout.readline().decode()`);
  if (!value?.includes("flooding")) throw new Error(`the flood did not start: ${value ?? error?.traceback}`);
}

async function roundTrip(session) {
  const samples = [];
  for (let count = 0; count < 60; count++) {
    samples.push(await timed(() => session.run("x += 1")));
    await pause(5);
  }
  return median(samples);
}

function each(callers, measure) {
  return Object.fromEntries(Object.entries(callers).map(([name, call]) => [name, () => measure(call)]));
}

/** Requests per second, high enough to have no effect. */
const unlimited = 10_000;

function openCells(target, carrier) {
  return LiveSessions.open({
    policy: parsePolicy({
      proc: { cpus: 2, background: true, timeout: "2m", memory: "1GiB" },
      net: { enabled: true, allowlist: [target], requests: unlimited },
    }),
    runners: [processRunner({ carrier })],
    egress: { fixedAddresses: { [host]: "127.0.0.1" } },
  });
}

async function callInCell(session, call) {
  const { status, stdout, error } = await session.run(`import json\nprint(json.dumps(${call(3128)}))`);
  if (status !== "ok") throw new Error(`${status}: ${error?.traceback}`);
  return JSON.parse(stdout);
}

/** The proxy on a port of the host, with a Python process of the host as its client. */
async function openOutside(target, client) {
  const proxy = new EgressProcess({ fixedAddresses: { [host]: "127.0.0.1" } });
  const rules = { enabled: true, allowlist: [target], deny: [], requests: unlimited };
  const session = await proxy.openSession(rules, () => {});
  const listener = await hostListener();
  await session.listen(listener);
  return {
    call: async (call) => {
      const program = `${client}\nimport json\nprint(json.dumps(${call(listener.port)}))`;
      // In its own session, like cells, because Linux schedules CPU time by session.
      const child = spawn(python, ["-I", "-c", program], { detached: true, stdio: ["ignore", "pipe", "inherit"] });
      return JSON.parse(await text(child.stdout));
    },
    close: async () => {
      await session[Symbol.asyncDispose]();
      listener.close();
      await proxy[Symbol.asyncDispose]();
    },
  };
}

/** A listening socket that this process does not accept on. Another process creates it, as a cell does. */
async function hostListener() {
  const program = `const server = require("node:net").createServer().listen(0, "127.0.0.1", () => {
    process.send({}, server._handle, () => process.disconnect());
    server.close();
  })`;
  const maker = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const [, handle] = await new Promise((settle) => maker.once("message", (...message) => settle(message)));
  return PassedListener.from(handle);
}

/** Resident memory of this process and of the proxies that it started, in bytes. */
async function memory() {
  let bytes = 0;
  for (const pid of await readdir("/proc")) {
    const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
    const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    const isProxy = status.includes(`\nPPid:\t${process.pid}\n`) && command.includes("egress/process/proxy-process");
    if (isProxy || pid === String(process.pid)) bytes += Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024;
  }
  return bytes;
}
