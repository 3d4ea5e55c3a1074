import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Cleanup } from "../../../lib/cleanup.ts";
import { CodecellError } from "../../../lib/errors.ts";
import { type EngineClient, EngineRefusal } from "../engine/engine-client.ts";
import { linesOf, type OnProgress } from "./image-progress.ts";

const suite = "bookworm";
const importMs = 600_000;

export interface BootstrapOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onProgress: OnProgress;
  readonly signal?: AbortSignal;
}

/** Creates a small Debian with debootstrap and imports it into the engine under this name, without a registry. */
export async function bootstrapDebian(client: EngineClient, image: string, options: BootstrapOptions): Promise<void> {
  if (process.getuid?.() !== 0) {
    throw new CodecellError("usage", "--bootstrap debian needs root: it creates files that belong to other users", {
      hint: "run `sudo codecell image build --bootstrap debian`, or use --base IMAGE",
    });
  }
  await using cleanup = new Cleanup();
  const directory = await mkdtemp(join(tmpdir(), "codecell-bootstrap-"));
  cleanup.defer(() => rm(directory, { recursive: true, force: true }));
  const root = join(directory, "root");
  options.onProgress({ type: "step", text: `creating a base image with debootstrap (Debian ${suite})` });
  await debootstrap(root, options);
  const list = join(root, "etc/apt/sources.list");
  await writeFile(list, withUpdates(await readFile(list, "utf8")));
  options.onProgress({ type: "step", text: `importing the base image into ${client.address.name}` });
  await importTree(client, root, image, options);
}

/** Runs in its own mount and pid namespace, so that no mount and no process is left behind. */
async function debootstrap(root: string, options: BootstrapOptions): Promise<void> {
  const inside = ["debootstrap", "--variant=minbase", suite, root]; // from its default mirror
  const child = spawn("unshare", ["--mount", "--pid", "--fork", "--kill-child", "--", ...inside], {
    env: environment(options.env),
    stdio: ["ignore", "pipe", "pipe"],
    detached: true, // codecell alone handles Ctrl-C in the terminal, and kills it
    ...(options.signal ? { signal: options.signal, killSignal: "SIGKILL" } : {}),
  });
  const ended = exitOf(child);
  const last: string[] = [];
  const read = async (stream: AsyncIterable<Buffer>) => {
    for await (const line of linesOf(stream)) {
      const text = line.replace(/^[IWE]: /, "");
      options.onProgress({ type: "detail", text });
      if (last.push(text) > 5) last.shift();
    }
  };
  await Promise.all([read(child.stdout), read(child.stderr), ended.catch(() => {})]);
  const code = await ended;
  if (code === 0) return;
  options.signal?.throwIfAborted();
  const isMissing = code === 127 || last.some((line) => /failed to execute debootstrap/.test(line));
  throw new CodecellError(
    "image_failed",
    isMissing ? "debootstrap is not installed" : `debootstrap failed: ${last.join("; ") || `exit code ${code}`}`,
    {
      hint: isMissing
        ? "install it: `sudo apt install debootstrap`, or use --base IMAGE"
        : "check that this machine can reach a Debian mirror",
    },
  );
}

/** Caches of the package manager, and device nodes, which every engine creates itself. */
const leftOut = ["./var/cache/apt/*", "./var/lib/apt/lists/*", "./var/log/*", "./dev/*"];

async function importTree(
  client: EngineClient,
  root: string,
  image: string,
  { env, signal }: BootstrapOptions,
): Promise<void> {
  const exclude = leftOut.map((path) => `--exclude=${path}`);
  const tar = spawn("tar", ["--create", "--numeric-owner", ...exclude, "--directory", root, "."], {
    env: environment(env),
    stdio: ["ignore", "pipe", "ignore"],
  });
  const packed = exitOf(tar);
  const taken = client.bytes({
    method: "POST",
    path: "/images/create",
    query: { fromSrc: "-", repo: image }, // includes the tag, because Podman 4 ignores a separate `tag` parameter
    bodyStream: tar.stdout,
    bodyType: "application/x-tar",
    timeoutMs: importMs,
    ...(signal ? { signal } : {}),
  });
  try {
    const [answer, code] = await Promise.all([taken, packed]);
    if (code !== 0) throw new CodecellError("image_failed", `tar failed with exit code ${code}`);
    refuseFailure(answer.toString());
  } catch (error) {
    tar.kill("SIGKILL");
    if (!(error instanceof EngineRefusal)) throw error;
    throw new CodecellError("image_failed", `the engine rejected the base image: ${error.message}`, {
      cause: error,
    });
  }
}

/** An engine sends its status 200 before the import can fail. */
function refuseFailure(answer: string): void {
  const failure = /"error":\s*"([^"]*)"/.exec(answer)?.[1];
  if (failure) throw new CodecellError("image_failed", `the engine rejected the base image: ${failure}`);
}

/** Pure: adds the suites with updates to the list that debootstrap wrote, so that images get security updates. */
export function withUpdates(list: string): string {
  const mirror = /^deb (\S+?)\/? /m.exec(list)?.[1];
  if (mirror === undefined) return list;
  return [
    `deb ${mirror} ${suite} main`,
    `deb ${mirror} ${suite}-updates main`,
    `deb ${mirror}-security ${suite}-security main`,
    "",
  ].join("\n");
}

/** Only PATH and the proxy variables, so that scripts of packages cannot read the caller's secrets. */
function environment(env: Readonly<Record<string, string | undefined>>): NodeJS.ProcessEnv {
  const proxies = ["http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"];
  const kept = proxies.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]] as const]));
  const path = [env.PATH, "/usr/sbin", "/sbin", "/usr/bin", "/bin"].filter(Boolean).join(":");
  return { ...Object.fromEntries(kept), PATH: path, LC_ALL: "C", DEBIAN_FRONTEND: "noninteractive" };
}

function exitOf(child: ReturnType<typeof spawn>): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve(code));
  });
}
