import { type Duplex, duplexPair } from "node:stream";
import { chunkBytes, encodeFrameHead, FrameDecoder } from "../../src/kernel/frames.ts";
import type { CellMessage, DoneMessage, HostMessage, Program } from "../../src/kernel/messages.ts";
import type { IsolationLevel } from "../../src/policy/isolation.ts";
import { policyRules } from "../../src/policy/rules.ts";
import type { Policy, RunnerName } from "../../src/policy/schema.ts";
import type { EnforcementPlan, RefusedRule } from "../../src/runners/receipt.ts";
import type { Cell, CellExit, CellSpec, Probe, ProbeOptions, SandboxRunner } from "../../src/runners/runner.ts";

/** A fake program: prints through `cell` and returns how it ended. */
export type FakeProgram = (cell: FakeRun) => Partial<DoneMessage> | Promise<Partial<DoneMessage>>;

export interface FakeRun {
  readonly code: string;
  /** name, arguments and whether there is standard input, which a fake does not read */
  readonly program: Program | undefined;
  print(stream: "stdout" | "stderr", text: string): void;
  display(mime: string, data: Uint8Array): void;
  /** resolves when the host interrupts the run */
  readonly interrupted: Promise<void>;
}

export interface FakeOptions {
  readonly name?: RunnerName;
  /** default: the level of the runner with this name */
  readonly isolation?: IsolationLevel;
  readonly probe?: Probe;
  readonly refused?: readonly RefusedRule[];
  readonly program?: FakeProgram;
  /** the value of an expression; default: there is none, and nothing answers */
  readonly value?: (expression: string, request: { readonly timeoutMs: number }) => unknown;
  /** JSON or bytes of the variables, which `set` changes; default: every read and write stays without an answer */
  readonly variables?: Map<string, Uint8Array>;
  /** called before a cell starts; the start fails with what it throws */
  readonly beforeStart?: () => void;
  /** the cell fails with this before it is ready */
  readonly endsEarly?: Partial<CellExit>;
  readonly usage?: Cell["usage"];
}

const noUsage = { memoryBytes: undefined, peakMemoryBytes: undefined, cpuMs: undefined, oomKills: 0 };

/** A runner in memory that speaks the kernel's frames, without isolation. For tests of the layers above runners. */
export class FakeRunner implements SandboxRunner {
  readonly name: RunnerName;
  readonly isolation: IsolationLevel;
  readonly takesWorkspace = false;
  readonly insideSandbox = "works";
  readonly started: CellSpec[] = [];
  readonly probed: ProbeOptions[] = [];
  readonly #options: FakeOptions;
  openCells = 0;
  isDisposed = false;

  constructor(options: FakeOptions = {}) {
    this.name = options.name ?? "wasm";
    this.isolation = options.isolation ?? (this.name === "kubernetes" ? "container" : this.name);
    this.#options = options;
  }

  async probe(options: ProbeOptions = {}): Promise<Probe> {
    this.probed.push(options);
    return this.#options.probe ?? { available: true, version: "fake 1", guarantees: ["no-network"] };
  }

  async plan(policy: Policy): Promise<EnforcementPlan> {
    const refused = this.#options.refused ?? [];
    const rules = policyRules(policy)
      .filter(({ rule }) => !refused.some((one) => one.rule === rule))
      .map(({ rule, value }) => ({ rule, value, by: "runtime" as const, how: "nothing real" }));
    return { rules, refused, notes: ["this runner is a fake"] };
  }

  async start(spec: CellSpec): Promise<Cell> {
    this.#options.beforeStart?.();
    this.started.push(spec);
    this.openCells++;
    const { rules, notes } = await this.plan(spec.policy);
    const [host, guest] = duplexPair();
    const { endsEarly } = this.#options;
    if (endsEarly) guest.end();
    else speak(guest, this.#options);
    let isOpen = true;
    let exit = () => {};
    const exited = new Promise<void>((resolve) => {
      exit = resolve;
    });
    const receipt = { runner: this.name, runnerVersion: "fake 1", policyHash: spec.policyHash, rules, notes };
    return {
      id: spec.id,
      channel: host,
      setup: { env: {}, path: [], preload: [], background: false, recovery: false },
      receipt,
      exited: (endsEarly ? Promise.resolve() : exited).then(() => ({
        ...{ code: 0, signal: null, diagnostics: "" },
        ...endsEarly,
      })),
      usage: this.#options.usage ?? (async () => noUsage),
      [Symbol.asyncDispose]: async () => {
        if (isOpen) this.openCells--;
        isOpen = false;
        host.destroy();
        exit();
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.isDisposed = true;
  }
}

function speak(channel: Duplex, { program = () => ({}), value, variables }: FakeOptions): void {
  const decoder = new FrameDecoder();
  const interrupts = new Map<number, () => void>();
  const send = (message: CellMessage, body: Uint8Array = new Uint8Array(0)) => {
    if (channel.destroyed) return;
    channel.write(encodeFrameHead(message, body.byteLength));
    if (body.byteLength > 0) channel.write(body);
  };
  const run = async (id: number, code: string, around: Program | undefined) => {
    const interrupted = new Promise<void>((resolve) => interrupts.set(id, resolve));
    const sizes = { stdout: 0, stderr: 0 };
    let displays = 0;
    const end = await program({
      code,
      program: around,
      interrupted,
      print(stream, text) {
        const bytes = Buffer.from(text);
        sizes[stream] += bytes.length;
        send({ t: "out", id, stream }, bytes);
      },
      display: (mime, data) => send({ t: "display", id, display: ++displays, mime, more: false }, data),
    });
    const { stdout: stdoutBytes, stderr: stderrBytes } = sizes;
    send({ t: "done", id, status: "ok", state: "kept", stdoutBytes, stderrBytes, notes: [], ...end });
  };
  const sendValue = async ({ id, expression, timeoutMs }: Extract<HostMessage, { t: "get" }>) => {
    const found = await value?.(expression, { timeoutMs });
    send({ t: "data", id }, Buffer.from(JSON.stringify(found)));
    send({ t: "reply", id, ok: true });
  };
  const sets = new Map<number, { name: string; size: number; data: Buffer[] }>();
  const onSet = (id: number, piece?: Buffer) => {
    const { name, size, data } = sets.get(id) ?? { name: "", size: 0, data: [] };
    if (piece) data.push(piece);
    const whole = Buffer.concat(data);
    if (whole.byteLength < size) return;
    variables?.set(name, whole);
    send({ t: "reply", id, ok: true });
  };
  const onMessage = (message: HostMessage, body: Buffer) => {
    if (message.t === "start") {
      send({ t: "hello", protocol: 1, python: "3.99.0", languages: ["python", "bash"], features: [] });
      send({ t: "ready" });
    } else if (message.t === "run") void run(message.id, body.toString(), message.program);
    else if (message.t === "interrupt") interrupts.get(message.id)?.();
    else if (message.t === "reset") send({ t: "reply", id: message.id, ok: true });
    else if (message.t === "get" && value) void sendValue(message);
    else if (message.t === "set" && variables) {
      sets.set(message.id, { name: message.name, size: message.size, data: [] });
      send({ t: "credit", id: message.id, bytes: message.size });
    } else if (message.t === "data") onSet(message.id, body);
    else if (message.t === "get" && variables) {
      const found = variables.get(message.expression) ?? new Uint8Array(0);
      for (let at = 0; at < found.byteLength; at += chunkBytes)
        send({ t: "data", id: message.id }, found.subarray(at, at + chunkBytes));
      send({ t: "reply", id: message.id, ok: true });
    } else if (message.t === "vars") {
      send(
        { t: "data", id: message.id },
        Buffer.from(JSON.stringify([{ name: "x", type: "int", size: 28, summary: "6" }])),
      );
      send({ t: "reply", id: message.id, ok: true });
    }
  };
  channel.on("data", (bytes: Buffer) =>
    decoder.push(bytes, ({ header, body }) => onMessage(header as HostMessage, Buffer.from(body))),
  );
  channel.on("error", () => {});
}
