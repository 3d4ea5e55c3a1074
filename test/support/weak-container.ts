import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import type { ControlWeakness } from "../../src/attacks/attack.ts";
import type { AttackHost } from "../../src/attacks/host/attack-host.ts";
import { AttachedStream } from "../../src/runners/container/engine/attached-stream.ts";
import type { EngineClient } from "../../src/runners/container/engine/engine-client.ts";
import { weakDriver } from "./weak-driver.ts";

/** What the container's driver carries out: programs one after the other in one interpreter, beside a victim. */
export interface WeakJob {
  readonly programs: readonly string[];
  /** before and after the attack, in an interpreter of its own */
  readonly victim?: { readonly before: string; readonly after: string };
  /** text in the command line of processes that should not be there afterwards */
  readonly mine?: string;
  /** give the program a messenger and a supervisor that believes it */
  readonly isTrusting?: boolean;
  /** bash instead of programs */
  readonly shell?: string;
}

export interface WeakResult {
  /** the end of what the programs printed */
  readonly printed: string;
  /** what the victim printed; null: it did not answer */
  readonly victim: string | null;
  readonly survivors: number;
}

/** A disposable container with one wall missing. It is removed with everything in it. */
export class WeakContainer implements AsyncDisposable {
  readonly #client: EngineClient;
  readonly #id: string;
  readonly #stream: AttachedStream;
  readonly #lines: AsyncIterator<string>;

  private constructor(client: EngineClient, id: string, stream: AttachedStream) {
    this.#client = client;
    this.#id = id;
    this.#stream = stream;
    this.#lines = createInterface({ input: stream })[Symbol.asyncIterator]();
  }

  static async start(
    client: EngineClient,
    image: string,
    weakness: ControlWeakness,
    host: AttackHost,
  ): Promise<WeakContainer> {
    const name = `codecell-control-${randomBytes(6).toString("hex")}`;
    const json = containerOf(image, weakness, host);
    const { Id: id } = await client.json<{ Id: string }>({
      ...{ method: "POST", path: "/containers/create", query: { name }, json },
    });
    const query = { stream: true, stdin: true, stdout: true, stderr: true };
    const { socket, head } = await client.hijack({ method: "POST", path: `/containers/${id}/attach`, query });
    const container = new WeakContainer(client, id, new AttachedStream(socket, head));
    try {
      await client.bytes({ method: "POST", path: `/containers/${id}/start` });
      return container;
    } catch (error) {
      await container[Symbol.asyncDispose]();
      throw error;
    }
  }

  async run(job: WeakJob): Promise<WeakResult> {
    this.#stream.write(`${JSON.stringify(job)}\n`);
    const { value, done } = await this.#lines.next();
    if (done) throw new Error(`the container has exited: ${this.#stream.log}`);
    return JSON.parse(value) as WeakResult;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stream.destroy();
    await this.#client.bytes({ method: "DELETE", path: `/containers/${this.#id}`, query: { force: true, v: true } });
  }
}

/** The body of the engine's request: a usual container, but for the one wall. */
function containerOf(image: string, weakness: ControlWeakness, host: AttackHost): unknown {
  const { facts, shown } = host;
  const outside = facts.directories as string[];
  const shares = [`${shown.readOnly}:/data`, `${shown.writable}:/shared`, `${shown.deps}:/deps`];
  const isOpen = weakness === "privileged";
  const hasHostNetwork = weakness === "host-network" || weakness === "no-proxy";
  return {
    Image: image,
    // A shell stays process 1, so that attacks on process 1 do not end the driver.
    Entrypoint: ["/bin/sh", "-c", 'python3 -u -c "$DRIVER"; exit 0'],
    Cmd: [],
    Env: [
      ...[`DRIVER=${weakDriver}`, "LANG=C.UTF-8", "HOME=/workspace"],
      ...(isOpen ? ["OWN_MOUNTS=1"] : []),
      ...(weakness === "host-environment" ? [`${host.variable}=${host.secret}`, `USER=${userName()}`] : []),
      ...(weakness === "no-proxy"
        ? [`API_TOKEN=${host.secret}`, "OPEN_PROXY=1", "http_proxy=http://127.0.0.1:3128"]
        : []),
    ],
    ...{ User: weakness === "no-filter" ? "65534" : "0", WorkingDir: "/", OpenStdin: true, StdinOnce: true },
    Labels: { "codecell.control": weakness },
    HostConfig: {
      NetworkMode: hasHostNetwork ? "host" : "none",
      PidMode: weakness === "host-processes" ? "host" : "",
      SecurityOpt: isOpen || weakness === "no-filter" ? ["seccomp=unconfined", "apparmor=unconfined"] : [],
      ...(isOpen ? everyPrivilege() : {}),
      ...(weakness === "host-processes" ? { CapAdd: ["KILL", "SYS_PTRACE"] } : {}),
      Tmpfs: { "/workspace": "mode=1777,exec", "/tmp": "mode=1777,exec,size=2g", "/dev/shm": "mode=1777,size=2g" },
      // nothing but canaries of the host; the rest of the container is its own
      Binds: [...(isOpen || weakness === "host-files" ? outside.map((path) => `${path}:${path}`) : []), ...shares],
      // bounded: more than any attack takes, so that the machine is safe from a mistake
      ...{ Memory: 3 * 2 ** 30, PidsLimit: 2000 },
      Ulimits: [{ Name: "nofile", Soft: 8192, Hard: 8192 }],
    },
  };
}

/** What `--privileged` gives, as far as this process itself has it: an engine refuses more. */
function everyPrivilege(): object {
  const [, mask = "0"] = /^CapBnd:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
  const has = (bit: number) => (BigInt(`0x${mask}`) >> BigInt(bit)) & 1n;
  return {
    CapAdd: capabilities.filter((_, bit) => has(bit)),
    ...{ MaskedPaths: [], ReadonlyPaths: [], CgroupnsMode: "host", DeviceCgroupRules: ["a *:* rwm"] },
    Devices: [{ PathOnHost: "/dev/kmsg", PathInContainer: "/dev/kmsg", CgroupPermissions: "rwm" }],
  };
}

/** In the order of their numbers. */
const capabilities: readonly string[] = [
  ...["CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP"],
  ...["LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER"],
  ...["SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE"],
  ...["SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD", "LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP"],
  ...["MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ"],
];

function userName(): string {
  return process.env.USER ?? "root";
}
