import { execFile, spawn } from "node:child_process";
import { chown, cp, mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { PassThrough, type Readable } from "node:stream";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { packageRoot } from "../../src/lib/files/package-root.ts";
import { defaultImage } from "../../src/runners/container/image/default-image.ts";
import { skipOrFail } from "../contract/required.ts";
import { composeSettings } from "../support/compose-settings.ts";
import { findProgram } from "../support/find-program.ts";
import { importHostPython } from "../support/host-python-image.ts";
import { PrivateDocker, privateDockerProbe } from "../support/private-docker.ts";

const root = packageRoot();
const image = "codecell-service:latest";
const programs = ["node", "bwrap", "tini", "docker"];
const missing = programs.filter((name) => findProgram(name) === undefined);
const skips = skipOrFail("container", privateDockerProbe()) || missing.length > 0;

/**
 * The last part of the Dockerfile and the settings of the compose files, with programs of this machine in the place of Debian's
 * packages: nothing is downloaded. The daemon has no network, so the service is asked from inside of its container.
 */
describe.skipIf(skips)(`the image of the service${missing.length > 0 ? ` (${missing} not installed)` : ""}`, () => {
  let docker: PrivateDocker;
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "cc-service-image-"));
    docker = await PrivateDocker.start({ hasImage: false });
    await importHostPython(docker.client, image, {
      programs: [
        "/bin/sh",
        "/bin/bash",
        "/bin/cat",
        "/usr/bin/id",
        "/usr/bin/env",
        ...programs.slice(0, 3).map((name) => findProgram(name) ?? ""),
      ],
      overlay: await imageRoot(directory),
      changes: await imageSettings(),
    });
  });
  afterAll(async () => {
    await docker?.[Symbol.asyncDispose]();
    await rm(directory, { recursive: true, force: true });
  });

  const command = (...args: string[]) =>
    promisify(execFile)("docker", args, { env: { ...process.env, DOCKER_HOST: docker.host }, timeout: 120_000 });
  /** What a command that goes on printed until a pattern matched. */
  const follow: Follow = async (args, pattern) => {
    const child = spawn("docker", args, { env: { ...process.env, DOCKER_HOST: docker.host }, timeout: 120_000 });
    try {
      let printed = "";
      for await (const piece of merged(child.stdout, child.stderr)) {
        printed += piece;
        if (pattern.test(printed)) return printed;
      }
      throw new Error(`docker ${args.join(" ")} printed nothing like ${pattern}: ${printed}`);
    } finally {
      child.kill();
    }
  };

  test("with compose.yaml it is not root, writes only its state, creates one token, and runs code on wasm", async () => {
    await using service = await start(command, follow, ["compose.yaml"]);
    const log = await service.log(/dashboard \S+\s/);
    const [, token = ""] = /#token=(\S+)/.exec(log) ?? [];
    expect(log).toContain(`http://127.0.0.1:7410/#token=${token}`);
    expect(await service.exec("id", "-u")).toBe("10002\n");
    await expect(service.exec("sh", "-c", "echo 1 > /opt/codecell/bin/x")).rejects.toThrow(/Read-only file system/);
    expect(await service.exec("sh", "-c", "cat /proc/1/status")).toMatch(/CapEff:\s+0{16}\n[\s\S]*NoNewPrivs:\s+1/);
    expect(await service.run(token, "6 * 7")).toMatchObject({ status: "ok", value: "42", runner: "wasm" });
    const doctor = await service.exec("codecell", "doctor");
    expect(doctor).toContain("auto chooses wasm");
    expect(doctor).not.toContain("warning");
    expect(await service.health()).toBe("healthy");
    await service.restart();
    expect(await service.run(token, "1")).toMatchObject({ status: "ok" });
    const { stdout, stderr } = await command("logs", service.name);
    expect(stdout + stderr).toMatch(/serving[\s\S]*serving/);
    expect(stdout + stderr).not.toMatch(/token=[\s\S]*token=/);
  });

  test("with compose.process.yaml it runs code on the process runner", async () => {
    await using service = await start(command, follow, ["compose.yaml", "images/service/compose.process.yaml"]);
    const [, token = ""] = /#token=(\S+)/.exec(await service.log(/dashboard \S+\s/)) ?? [];
    expect(await service.exec("codecell", "doctor")).toContain("auto chooses process");
    expect(await service.run(token, "6 * 7")).toMatchObject({ status: "ok", value: "42", runner: "process" });
    const { artifacts } = await service.run(token, "open('a.txt', 'w').write('linked')");
    const script = `fetch(${JSON.stringify(artifacts[0].download_url)}).then(async (answer) => console.log(await answer.text()))`;
    expect(await service.exec("node", "-e", script)).toBe("linked\n");
  });

  test("with compose.engine.yaml its cells are containers of the host's engine, and other commands find its tokens", async () => {
    await importHostPython(docker.client, defaultImage());
    const state = await mkdtemp(join(tmpdir(), "cc-service-"));
    try {
      await chown(state, 10_002, 10_002);
      const socket = docker.host.replace("unix://", "");
      const files = ["compose.yaml", "images/service/compose.engine.yaml"];
      await using service = await start(command, follow, files, {
        "/var/lib/codecell-service": state,
        "/var/run/docker.sock:": `${socket}:`,
        "${DOCKER_GID:?set DOCKER_GID to the group of /var/run/docker.sock}": String((await stat(socket)).gid),
      });
      const [, token = ""] = /#token=(\S+)/.exec(await service.log(/dashboard \S+\s/)) ?? [];
      expect(await service.run(token, "6 * 7")).toMatchObject({ status: "ok", value: "42", runner: "container" });
      expect(await service.exec("codecell", "token", "ls")).toContain("owner");
      expect(await service.exec("codecell", "doctor")).toMatch(
        /warning: this container can use the engine of (?:\w+, )*container/,
      );
    } finally {
      await rm(state, { recursive: true, force: true });
    }
  });
});

interface LockEntry {
  readonly dev?: boolean;
  readonly peer?: boolean;
}

type Command = (...args: string[]) => Promise<{ stdout: string; stderr: string }>;
type Follow = (args: readonly string[], pattern: RegExp) => Promise<string>;

/** Both streams of a process as they come. */
function merged(...streams: readonly Readable[]): AsyncIterable<Buffer> {
  const one = new PassThrough();
  let open = streams.length;
  for (const stream of streams) {
    stream.pipe(one, { end: false });
    stream.once("end", () => --open === 0 && one.end());
  }
  return one;
}

/** A container with the settings of compose files. `places` replaces paths of the host. */
async function start(
  command: Command,
  follow: Follow,
  files: readonly string[],
  places: Readonly<Record<string, string>> = {},
) {
  const named = JSON.stringify(composeSettings(files));
  const settings = JSON.parse(Object.entries(places).reduce((text, [from, to]) => text.replaceAll(from, to), named));
  const name = `service-${basename(files.at(-1) ?? "", ".yaml")}`;
  const security = settings.security_opt.map((option: string) =>
    option.replace("no-new-privileges:true", "no-new-privileges"),
  );
  // asked after seconds, because how often is not the question
  await command(
    ...["run", "--detach", "--name", name, "--network=none"],
    ...settings.volumes.flatMap((volume: Volume) => ["--volume", mountOf(volume, name)]),
    ...(settings.user ? ["--user", settings.user] : []),
    ...Object.entries(settings.environment ?? {}).flatMap(([key, value]) => ["--env", `${key}=${value}`]),
    ...(settings.read_only ? ["--read-only"] : []),
    ...settings.tmpfs.flatMap((path: string) => ["--tmpfs", path]),
    ...settings.cap_drop.flatMap((one: string) => ["--cap-drop", one]),
    ...security.flatMap((one: string) => ["--security-opt", one]),
    ...["--pids-limit", String(settings.pids_limit), "--health-interval=3s", image],
    ...(settings.command ?? []),
  );
  const exec = async (...argv: string[]) => (await command("exec", name, ...argv)).stdout;
  const log = (pattern: RegExp) => follow(["logs", "--follow", name], pattern);
  return {
    ...{ name, exec, log },
    health: async () => {
      const filters = ["--filter", `container=${name}`, "--filter", "event=health_status"];
      const event = await follow(["events", "--since", "10m", ...filters], /health_status: \w+/);
      return /health_status: (\w+)/.exec(event)?.[1];
    },
    restart: async () => {
      await command("restart", name);
      await vi.waitUntil(() => exec("codecell", "--version").catch(() => undefined), { timeout: 60_000 });
    },
    run: async (token: string, code: string) => {
      const script = `
        const call = (path, body) => fetch("http://127.0.0.1:7410/v1/" + path, { method: "POST", body: JSON.stringify(body),
          headers: { authorization: "Bearer ${token}", "content-type": "application/json" } }).then((answer) => answer.json());
        (async () => {
          for (let left = 100; left > 0; left--) {
            const made = await call("sessions", { session_id: "a" }).catch(() => undefined);
            if (made) break;
            await new Promise((resolve) => setTimeout(resolve, 100));
          }
          console.log(JSON.stringify(await call("sessions/a/runs", { code: ${JSON.stringify(code)} })));
        })();`;
      return JSON.parse(await exec("node", "-e", script));
    },
    async [Symbol.asyncDispose]() {
      await command("rm", "--force", "--volumes", name);
      await command("volume", "rm", "--force", name);
    },
  };
}

type Volume = string | { readonly source: string; readonly target: string };

/** The volume is named like the container, so that each has its own. */
function mountOf(volume: Volume, name: string): string {
  return typeof volume === "string" ? volume.replace(/^state:/, `${name}:`) : `${volume.source}:${volume.target}`;
}

/** The instructions of the Dockerfile that say how the service is started. */
async function imageSettings(): Promise<string[]> {
  const text = (await readFile(join(root, "images/service/Dockerfile"), "utf8")).replaceAll("\\\n", "");
  return text
    .split("\n")
    .filter((line) => /^(?:USER|ENV|WORKDIR|VOLUME|EXPOSE|HEALTHCHECK|ENTRYPOINT|CMD) /.test(line));
}

/** The root directory of the image: the package with what it needs, and the places that the Dockerfile makes. */
async function imageRoot(directory: string): Promise<string> {
  const overlay = join(directory, "overlay");
  const place = join(overlay, "opt/codecell");
  const { files } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const lock = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8")).packages as Record<
    string,
    LockEntry
  >;
  const parts = files.filter((name: string) => /^(?:bin|dist|python|images)/.test(name) && !name.includes("*"));
  const packages = Object.keys(lock).filter((path) => path !== "" && !lock[path]?.dev && !lock[path]?.peer);
  for (const part of [...parts, "package.json", ...packages]) {
    await cp(join(root, part), join(place, part), { recursive: true });
  }
  await mkdir(join(overlay, "usr/local/bin"), { recursive: true });
  const launcher = join(overlay, "usr/local/bin/codecell");
  await writeFile(launcher, '#!/bin/sh\nexec node /opt/codecell/bin/codecell.js "$@"\n', { mode: 0o755 });
  for (const name of ["state", "run/codecell", "tmp"]) await mkdir(join(overlay, name), { recursive: true });
  await chown(join(overlay, "state"), 10_002, 10_002);
  return overlay;
}
