import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { openDocker } from "../scripts/pictures/docker.js";
import { interleave, ms, row, timed } from "./harness.js";

const root = fileURLToPath(new URL("..", import.meta.url));
/** CODECELL_BENCH_LAUNCHER measures another installation in the same way. */
const launcher = process.env.CODECELL_BENCH_LAUNCHER ?? join(root, "bin", "codecell.js");
const rounds = 15;

/** Node parses the certificates of this variable at every start, which takes as long as the rest of the start. Most users do not set it. */
const { NODE_EXTRA_CA_CERTS: certificates, ...environment } = process.env;

/** Compares how long people wait for a command with bare Node and with `docker run`: whole processes, start to exit. */
export async function cli() {
  const stateHome = await mkdtemp(join(tmpdir(), "codecell-bench-"));
  await chmod(stateHome, 0o711); // if we are root, cells run as another user and must be able to enter
  const here = process.env.DOCKER_HOST;
  const { engine, lacking, close } = await openDocker();
  if (here === undefined) delete process.env.DOCKER_HOST; // a private daemon must not change what `auto` chooses
  if (certificates !== undefined) console.error("measured without NODE_EXTRA_CA_CERTS");
  if (!engine) console.error(`skipped the comparison with docker run: ${lacking}`);
  const program = (command, args, env) => () =>
    timed(() => finished(command, args, { XDG_STATE_HOME: stateHome, ...env }));
  const node = (...args) => program(process.execPath, args);
  const run = (...flags) => node(launcher, "run", ...flags, "-c", "print(1)");
  const warm = (...args) => program(process.execPath, [launcher, ...args], { XDG_RUNTIME_DIR: stateHome });
  const docker = ["run", "--rm", "--network", "none", "--entrypoint", "python3", engine?.image, "-c", "print(1)"];
  const dockerEnv = engine?.host === undefined ? {} : { DOCKER_HOST: engine.host };
  const variants = {
    node: node("-e", "0"),
    help: node(launcher, "--help"),
    process: run("--runner", "process"),
    auto: run(),
    warm: warm("run", "--warm", "-c", "1"),
    mcp: () => firstReply(stateHome),
    empty: node("--input-type=module", "-e", ""),
    library: node("--input-type=module", "-e", 'import "codecell"'),
    ...(engine ? { docker: program("docker", docker, dockerEnv) } : {}),
  };
  try {
    for (const measure of Object.values(variants)) await measure();
    await waitForHolder(stateHome);
    return rowsOf(await interleave(variants, rounds));
  } finally {
    await warm("warm", "stop")();
    await close();
    await rm(stateHome, { recursive: true, force: true });
  }
}

function rowsOf(figures) {
  const ratio = (what, one, other, bound) =>
    row(what, figures[one] / figures[other], bound, `${ms(figures[one])} / ${ms(figures[other])}`);
  return [
    ratio("codecell --help / node -e 0", "help", "node", { atMost: 1.5 }),
    ratio("codecell run --warm / node -e 0", "warm", "node", { atMost: 2 }),
    ratio("first reply of codecell mcp / node -e 0", "mcp", "node", { atMost: 2 }),
    row(
      'import "codecell" over an empty module, ms',
      figures.library - figures.empty,
      { atMost: 120 },
      `${ms(figures.library)} - ${ms(figures.empty)}`,
    ),
    ratio("codecell run, auto / named runner", "auto", "process", { atMost: 1.15 }),
    figures.docker === undefined
      ? ratio("codecell run, process runner / node -e 0", "process", "node", {})
      : ratio("codecell run, process runner / docker run", "process", "docker", { atMost: 0.8 }),
  ];
}

async function finished(command, args, env) {
  const child = spawn(command, args, {
    cwd: root,
    env: { ...environment, ...env },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`${command} ${args.join(" ")} exited with ${code}`);
}

/** The first call with --warm has started it in the background. */
async function waitForHolder(runtimeDir) {
  const directory = join(runtimeDir, "codecell", "warm");
  for (let tries = 0; tries < 300; tries++) {
    const names = await readdir(directory).catch(() => []);
    if (names.some((name) => name.endsWith(".sock"))) return;
    await pause(100);
  }
  throw new Error("no process holds warm cells");
}

/** From the start of the server to its reply to `initialize`. */
async function firstReply(stateHome) {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "bench", version: "1" } };
  const env = { ...environment, XDG_STATE_HOME: stateHome };
  const startedAt = performance.now();
  const child = spawn(process.execPath, [launcher, "mcp"], { env, stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params })}\n`);
  await once(child.stdout, "data");
  const time = performance.now() - startedAt;
  child.stdin.end();
  await once(child, "exit");
  return time;
}
