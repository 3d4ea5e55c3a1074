import type { DescribedArtifacts, LeftOut } from "../../artifacts/artifact.ts";
import type { FileList, FileSource, ListOptions } from "../../artifacts/workspace-file.ts";
import type { Variable } from "../../kernel/messages.ts";
import type { ValuePreview } from "../../kernel/value-preview.ts";
import { CodecellError } from "../../lib/errors.ts";
import { valueJson } from "../../lib/json/value-json.ts";
import type { LiveChange } from "../../policy/change/live-rules.ts";
import type { PolicyChange } from "../../policy/change/merge.ts";
import type { CellUsage } from "../../runners/cell-usage.ts";
import type { EnforcementReceipt } from "../../runners/receipt.ts";
import type { CodeSession } from "../../sessions/code-session.ts";
import type { ExposedFunction } from "../../sessions/functions/exposed-function.ts";
import type { Checkpoint } from "../../sessions/interpreter/checkpoint.ts";
import type { ReadOptions } from "../../sessions/interpreter/read-options.ts";
import type { RunOptions } from "../../sessions/runs/run-options.ts";
import type { HistoryEntry } from "../../sessions/storage/session-history.ts";
import { segment } from "../http/paths.ts";
import type { Request, Transport } from "../http/transport.ts";
import { afterLastOffset, followRun } from "../run/follow-run.ts";
import { RemoteRun } from "../run/remote-run.ts";
import { startRun } from "../run/start-run.ts";
import { decodeArtifact, decodeLeftOut, type RemoteArtifact } from "../wire/decode-files.ts";
import { decodeReceipt } from "../wire/decode-receipt.ts";
import { decodeRun, type RemoteRunResult } from "../wire/decode-run.ts";
import {
  decodeCheckpoint,
  decodeHistoryEntry,
  decodeRestore,
  decodeRunInfo,
  decodeSessionInfo,
  decodeSnapshot,
  decodeVariable,
  type RemoteRestore,
  type RemoteRunInfo,
  type RemoteSessionInfo,
  type RemoteSnapshot,
} from "../wire/decode-session.ts";
import { Fields } from "../wire/fields.ts";
import { ClientFunctions } from "./client-functions.ts";
import { RemoteFiles } from "./remote-files.ts";

/** The files of a workspace as artifacts, with links to them. */
export interface RemoteArtifacts extends DescribedArtifacts {
  readonly artifacts: readonly RemoteArtifact[];
}

/** The rules of a session that can change while it is live, and the hash of its whole policy. */
export interface RemotePolicy {
  readonly policyHash: string;
  readonly net: {
    readonly enabled: boolean;
    readonly allowlist: readonly string[];
    readonly deny: readonly string[];
    readonly connections: number;
    readonly requests: number;
    /** as written in a policy, such as `10MiB` */
    readonly sent: string;
    readonly received: string;
  };
}

/** A link to the content of a file. Anybody who has it can download that content until it expires. */
export interface FileLink {
  readonly url: string;
  readonly name: string;
  readonly size: number;
  readonly sha256: string;
  readonly expiresMs: number;
}

/** A run that has ended, or one that is still running, with the end of its output so far. */
export type RunProgress =
  | RemoteRunResult
  | { readonly status: "running"; readonly runId: string; readonly stdout: string; readonly stderr: string };

/** How a link works. */
export interface LinkOptions {
  /** default: an hour; at most 7 days */
  readonly expiresInMs?: number;
  /** `inline` works for images and plain text; default: `attachment` */
  readonly disposition?: "attachment" | "inline";
}

/** @internal What a session asks of the connection that it belongs to. */
export interface SessionOwner {
  sessionOf(id: string): RemoteSession;
  closed(id: string): void;
}

/** The path of a session on the service. */
export function sessionPath(id: string): string {
  return `/v1/sessions/${segment(id, "the id of a session")}`;
}

/**
 * A session on a service: variables, files and history under one id. It has the methods of the library's `Session`. What the
 * service does not offer throws `not_supported` with the reason.
 */
export class RemoteSession implements CodeSession, AsyncDisposable {
  /** Its id, as its callers know it. */
  readonly id: string;
  readonly #transport: Transport;
  readonly #path: string;
  readonly #owner: SessionOwner;
  readonly #functions: ClientFunctions;
  /** the start of the last run that was queued */
  #lastStart: Promise<unknown> | undefined;
  #closing: Promise<void> | undefined;

  /** @internal */
  constructor(transport: Transport, id: string, owner: SessionOwner) {
    this.id = id;
    this.#transport = transport;
    this.#path = sessionPath(id);
    this.#owner = owner;
    this.#functions = new ClientFunctions(transport, id, this.#path);
  }

  /** What is known of it without waking it. */
  async info(): Promise<RemoteSessionInfo> {
    return decodeSessionInfo(await this.#get(""));
  }

  /** The rules that can change while it is live. */
  async policy(): Promise<RemotePolicy> {
    const policy = new Fields(await this.#get("/policy"), "the policy");
    const net = policy.object("net");
    return {
      policyHash: policy.text("policy_hash"),
      net: {
        ...{ enabled: net.flag("enabled"), allowlist: net.texts("allowlist"), deny: net.texts("deny") },
        ...{ connections: net.number("connections"), requests: net.number("requests") },
        ...{ sent: net.text("sent"), received: net.text("received") },
      },
    };
  }

  /** Changes network rules, within the service's policy. When this returns, the rules are enforced. */
  async updatePolicy(change: LiveChange): Promise<readonly PolicyChange[]> {
    const reply = await this.#transport.json({ method: "PATCH", path: `${this.#path}/policy`, json: change });
    return new Fields(reply, "the policy").list("changes", (item, what) => {
      const one = new Fields(item, what);
      const rule = one.text("rule") as PolicyChange["rule"];
      const direction = one.oneOf("direction", ["narrower", "wider"]);
      return { rule, from: one.text("from"), to: one.text("to"), direction };
    });
  }

  /**
   * Starts a run and returns at once: await it for the result, iterate it for the events. It keeps running if its caller or
   * the connection leaves; only its limits, its signal and `interrupt` stop it. If the service refuses the code, the run rejects.
   */
  run(code: string, options: RunOptions = {}): RemoteRun {
    const isQueued = options.whenBusy === "queue";
    const run = startRun(
      {
        ...{ transport: this.#transport, sessionPath: this.#path, after: isQueued ? this.#lastStart : undefined },
        onEnded: (result) => result && this.#functions.runEnded(result.id),
      },
      code,
      options,
    );
    if (isQueued) this.#lastStart = run.runId().catch(() => {});
    return run;
  }

  /** Its runs that are running, and those that ended in the last 15 minutes. */
  async runs(): Promise<RemoteRunInfo[]> {
    return new Fields(await this.#get("/runs"), "the list of runs").list("runs", decodeRunInfo);
  }

  /** How a run goes: its result if it has ended, or its status. Waits up to `waitMs`, at most a minute; default: not at all. */
  async getRun(runId: string, { waitMs = 0 }: { readonly waitMs?: number } = {}): Promise<RunProgress> {
    const query = { wait: Math.min(waitMs / 1000, 60), receipt: true };
    const reply = await this.#get(`/runs/${segment(runId, "the id of a run")}`, query);
    const run = new Fields(reply, "the run");
    if (run.text("status") !== "running") return decodeRun(reply).result;
    return { status: "running", runId, stdout: run.text("stdout"), stderr: run.text("stderr") };
  }

  /** A run that was started before, here or elsewhere, by the id of `run.runId()` or `session.runs()`. */
  attachRun(runId: string): RemoteRun {
    const transport = this.#transport;
    const pathOf = (id: string) => `${this.#path}/runs/${segment(id, "the id of a run")}`;
    const events = followRun(transport, { path: pathOf(runId), fromOffset: afterLastOffset });
    return new RemoteRun({ transport, pathOf, events });
  }

  /** Cancels a run by its id. Code that ignores the interrupt is killed after 2 seconds. */
  async cancelRun(runId: string): Promise<void> {
    const path = `${this.#path}/runs/${segment(runId, "the id of a run")}/cancel`;
    await this.#transport.done({ method: "POST", path, isRepeatable: true });
  }

  /** What was enforced during an earlier run. */
  async runReceipt(runId: string): Promise<EnforcementReceipt> {
    return decodeReceipt(await this.#get(`/runs/${segment(runId, "the id of a run")}/receipt`));
  }

  /** Names, types, sizes and summaries of its variables; the first 1000. */
  async variables(): Promise<Variable[]> {
    return new Fields(await this.#get("/variables"), "the variables").list("variables", decodeVariable);
  }

  /** The value of a variable, or of any Python expression, through JSON; at most 16 MiB. */
  async get(expression: string, options: ReadOptions = {}): Promise<unknown> {
    const isName = /^[A-Za-z_][A-Za-z0-9_]*$/.test(expression);
    const hasOptions = options.maxBytes !== undefined || options.timeoutMs !== undefined;
    // A name needs no right to run code.
    const reply =
      isName && !hasOptions
        ? await this.#transport.json({ method: "GET", path: `${this.#path}/variables/${expression}`, isExact: true })
        : await this.#evaluate(expression, "json", options);
    return new Fields(reply, "the value").any("value");
  }

  /** The bytes of a bytes-like or text variable, without base64; at most 16 MiB. */
  async getBytes(name: string, options: Pick<ReadOptions, "maxBytes"> = {}): Promise<Uint8Array> {
    const path = `${this.#path}/variables/${segment(name, "the name of a variable")}/bytes`;
    return this.#transport.bytes({ method: "GET", path }, options.maxBytes);
  }

  /** The beginning of a value as text, whatever its size: JSON, or the repr of what JSON cannot hold. */
  async preview(expression: string, options: ReadOptions = {}): Promise<ValuePreview> {
    const preview = new Fields(await this.#evaluate(expression, "preview", options), "the preview");
    return {
      ...{ form: preview.oneOf("form", ["json", "repr"]), text: preview.text("text") },
      ...{ characters: preview.count("characters"), isCut: preview.flag("is_cut") },
    };
  }

  /** Puts a value into a variable: bytes as they are, anything else through JSON. */
  async set(name: string, value: unknown): Promise<void> {
    const path = `${this.#path}/variables/${segment(name, "the name of a variable")}`;
    if (value instanceof Uint8Array) {
      await this.#transport.done({ method: "PUT", path: `${path}/bytes`, bytes: value, isRepeatable: true });
    } else {
      valueJson(name, value); // throws for what JSON would change
      const json = { value };
      await this.#transport.done({ method: "PUT", path, json, isRepeatable: true });
    }
  }

  /** Forgets every variable and starts a fresh interpreter in the same cell; files stay. */
  reset(): Promise<void> {
    return this.#transport.done({ method: "POST", path: `${this.#path}/reset` });
  }

  /** Files of the service's host cannot be loaded: a client must not read them. */
  async load(_path: string, _name: string): Promise<never> {
    throw new CodecellError("not_supported", "a client cannot load files of the service's host", {
      hint: "read the file in your program, then use set() or upload()",
    });
  }

  /** Puts a file of at most `proc.disk` bytes into the workspace. Nothing is left of a larger one. */
  async upload(path: string, source: FileSource, signal?: AbortSignal): Promise<{ size: number }> {
    return new RemoteFiles(this.#transport, this.#path).write(path, source, signal ? { signal } : {});
  }

  /** The files of its workspace, to read, write, list and remove. */
  async files(): Promise<RemoteFiles> {
    return new RemoteFiles(this.#transport, this.#path);
  }

  /** Deletes a file of its workspace, or a link itself; never a directory. */
  async removeFile(path: string): Promise<void> {
    return new RemoteFiles(this.#transport, this.#path).remove(path);
  }

  /** The files of its workspace, with size and time of the last change; at most 1000 per page. */
  listFiles(options: ListOptions = {}): Promise<FileList> {
    return new RemoteFiles(this.#transport, this.#path).list(options);
  }

  /** The files of its workspace as artifacts, with type, sha256 and a link. */
  async artifacts({ prefix, after, limit = 1000 }: ListOptions = {}): Promise<RemoteArtifacts> {
    const artifacts: RemoteArtifact[] = [];
    const leftOut: LeftOut[] = [];
    let next = after;
    do {
      const reply = await this.#get("/artifacts", { prefix, after: next });
      const page = new Fields(reply, "the list of artifacts");
      const before: string | undefined = next;
      artifacts.push(...page.list("artifacts", (item, what) => decodeArtifact(item, what)));
      leftOut.push(...page.list("left_out", decodeLeftOut));
      next = page.optional("next", page.text);
      if (next !== undefined && next === before) break; // a service that never ends
    } while (next !== undefined && artifacts.length + leftOut.length < limit);
    return { artifacts: artifacts.slice(0, limit), leftOut: leftOut.slice(0, 100), leftOutCount: leftOut.length };
  }

  /** Creates a link to the current content of a file. Anybody who has it can download that content. */
  async link(path: string, { expiresInMs, disposition }: LinkOptions = {}): Promise<FileLink> {
    const json = {
      path,
      ...(expiresInMs === undefined ? {} : { expires_in: Math.ceil(expiresInMs / 1000) }),
      ...(disposition === undefined ? {} : { disposition }),
    };
    const reply = await this.#transport.json({ method: "POST", path: `${this.#path}/links`, json, isRepeatable: true });
    const link = new Fields(reply, "the link");
    return {
      ...{ url: link.text("url"), name: link.text("name"), size: link.count("size"), sha256: link.text("sha256") },
      expiresMs: link.time("expires_at"),
    };
  }

  /** Freezes a copy of the interpreter under a name; copy-on-write, so it takes milliseconds whatever it holds. */
  async checkpoint(name: string): Promise<Checkpoint> {
    const request = { method: "POST", path: `${this.#path}/checkpoints`, json: { name } } as const;
    return decodeCheckpoint(await this.#transport.json(request));
  }

  /** Restores the variables of a checkpoint, which stays. Files do not change. */
  async rollback(name: string): Promise<Checkpoint> {
    const path = `${this.#path}/checkpoints/${segment(name, "the name of a checkpoint")}/rollback`;
    return decodeCheckpoint(await this.#transport.json({ method: "POST", path }));
  }

  /**
   * Restores the variables from before the last run, as often as `session.undo` of the policy allows. Files do not change. `run`
   * is the run that was undone, `left` how many more can be.
   */
  async undo(): Promise<{ readonly run: number; readonly left: number }> {
    const undone = new Fields(await this.#transport.json({ method: "POST", path: `${this.#path}/undo` }), "the undo");
    return { run: undone.count("run"), left: undone.count("left") };
  }

  /** The checkpoints that `rollback` can go back to. */
  async checkpoints(): Promise<readonly Checkpoint[]> {
    return new Fields(await this.#get("/checkpoints"), "the checkpoints").list("checkpoints", decodeCheckpoint);
  }

  /** Deletes a checkpoint and frees its memory. */
  async forgetCheckpoint(name: string): Promise<void> {
    const path = `${this.#path}/checkpoints/${segment(name, "the name of a checkpoint")}`;
    await this.#transport.done({ method: "DELETE", path, isRepeatable: true, isDoneIf: "checkpoint_unknown" });
  }

  /**
   * Lets programs in the session call functions of this process, from its next run on. They work while this program is
   * connected. A second client that exposes functions in the same session replaces them. Disposing the result removes them.
   */
  // biome-ignore lint/suspicious/noExplicitAny: each function has its own input, which its schema checks
  expose(functions: Readonly<Record<string, ExposedFunction<any>>>): Promise<AsyncDisposable> {
    return this.#functions.expose(functions);
  }

  /** A second session that starts with this one's variables, in the same cell and workspace. */
  async fork(id?: string): Promise<RemoteSession> {
    const json = id === undefined ? {} : { session_id: id };
    const reply = await this.#transport.json({ method: "POST", path: `${this.#path}/fork`, json });
    return this.#owner.sessionOf(decodeSessionInfo(reply).id);
  }

  /** What enforces each rule of its policy. */
  async receipt(): Promise<EnforcementReceipt> {
    return decodeReceipt((await this.#cell()).any("receipt"));
  }

  /** What its cell uses now, as far as the runner can tell. */
  async usage(): Promise<CellUsage> {
    const usage = (await this.#cell()).object("usage");
    return {
      memoryBytes: usage.optional("memory_bytes", usage.number),
      peakMemoryBytes: usage.optional("peak_memory_bytes", usage.number),
      cpuMs: usage.optional("cpu_ms", usage.number),
      oomKills: usage.count("oom_kills"),
    };
  }

  /** The languages that `run` accepts. */
  async languages(): Promise<readonly string[]> {
    return (await this.#cell()).texts("languages");
  }

  /** The version of its Python. */
  async pythonVersion(): Promise<string> {
    return (await this.#cell()).text("python_version");
  }

  /** Its last runs, oldest first; kept if the policy persists sessions. */
  async history(limit = 100): Promise<HistoryEntry[]> {
    const reply = await this.#get("/history", { limit });
    return new Fields(reply, "the history").list("history", decodeHistoryEntry);
  }

  /** Writes the variables to the service's disk, and lists those that cannot be saved. */
  async save(): Promise<RemoteSnapshot> {
    return decodeSnapshot(await this.#transport.json({ method: "POST", path: `${this.#path}/save` }));
  }

  /** Loads it into a cell if it is saved, and reports what was restored. Any other call restores it too. */
  async restore(): Promise<RemoteRestore> {
    const request = { method: "POST", path: `${this.#path}/restore`, isRepeatable: true } as const;
    return decodeRestore(await this.#transport.json(request));
  }

  /** Ends its cell. A persistent session is saved and can be opened again, unless `forget` removes it for good. */
  close(options: { forget?: boolean } = {}): Promise<void> {
    if (this.#closing === undefined || options.forget === true) {
      this.#functions.stop();
      this.#closing = this.#close(options.forget === true);
    }
    return this.#closing;
  }

  /** Closes it; twice is safe. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(forget: boolean): Promise<void> {
    const query = forget ? { forget } : {};
    await this.#transport.done({
      ...{ method: "DELETE", path: this.#path, query, isRepeatable: true, isDoneIf: "session_unknown" },
    });
    this.#owner.closed(this.id);
  }

  #get(path: string, query: NonNullable<Request["query"]> = {}): Promise<unknown> {
    return this.#transport.json({ method: "GET", path: `${this.#path}${path}`, query });
  }

  async #cell(): Promise<Fields> {
    return new Fields(await this.#get("/cell"), "the cell");
  }

  #evaluate(expression: string, as: "json" | "preview", { maxBytes, timeoutMs }: ReadOptions): Promise<unknown> {
    const json = {
      ...{ expression, as },
      ...(maxBytes === undefined ? {} : { max_bytes: Math.min(maxBytes, mostValueBytes) }),
      ...(timeoutMs === undefined ? {} : { timeout: timeoutMs / 1000 }),
    };
    return this.#transport.json({ method: "POST", path: `${this.#path}/values`, json, isExact: as === "json" });
  }
}

const mostValueBytes = 16 * 1024 * 1024;
