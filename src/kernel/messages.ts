import { z } from "zod";
import type { Language } from "../policy/languages.ts";

export const protocolVersion = 1;

/** How a run ended. */
export type RunStatus =
  | "ok"
  | "error"
  | "timeout"
  | "interrupted"
  | "out_of_memory"
  | "output_limit"
  | "crashed"
  | "cancelled";

/** What is left of the interpreter's state after a run. */
export type RunState = "kept" | "recovered" | "lost";

/** `preview`: the beginning of the value as text, after a line with its full length; see value-preview.ts. */
export type ValueFormat = "json" | "bytes" | "repr" | "preview";

/**
 * Where names are looked up: variables and builtins, attributes of `path`, keys of the dictionary `path`, files in the directory
 * `path[0]`, modules below the package `path`, or what can be imported from the module `path`.
 */
export type CompletionKind = "names" | "attributes" | "keys" | "files" | "modules" | "members";

/** The kernel's configuration before it runs code. A runner fills it in, and the `start` message carries it. */
export interface KernelSetup {
  readonly env: Readonly<Record<string, string>>;
  /** import directories by their paths in the cell, in order */
  readonly path: readonly string[];
  readonly preload: readonly string[];
  readonly background: boolean;
  readonly recovery: boolean;
  /** kill a run whose processes use more resident memory than this; set if the OS enforces no limit */
  readonly watchMemoryBytes?: number;
  /** kill a run whose TCP and UDP buffers are larger; set if a memory cgroup enforces a limit that does not count all of them */
  readonly watchSocketBytes?: number;
  /** kill a run when the whole cell has more memory than this, files in memory included; needs `watchMemoryBytes` */
  readonly watchTotalBytes?: number;
  /** limit on the processes that runs start; set if the OS enforces no limit; needs `watchMemoryBytes` */
  readonly watchProcesses?: number;
}

/** The first message to a cell. */
export interface StartMessage extends KernelSetup {
  readonly t: "start";
  /** listen for connections to the proxy; they arrive as `net.*` frames */
  readonly egress?: boolean;
  /** the file that the body is written to before user code starts: the authorities that the cell's TLS clients trust */
  readonly authorities?: string;
}

/** What a program finds around it, besides its code. */
export interface Program {
  /** `__file__` and `sys.argv[0]`, or `$0` in bash: a name, never a path of the host */
  readonly file?: string;
  readonly args?: readonly string[];
  /** its standard input follows as `in` frames */
  readonly stdin?: true;
  /** a directory of the cell whose entries appear in the working directory during the run; needs `path` */
  readonly directory?: string;
  /** directories of the cell that are added to Python's import path during the run */
  readonly path?: readonly string[];
}

/** Why a function of the host failed, as the program sees it. */
export interface GuestError {
  /** name of the exception's class */
  readonly type: string;
  readonly message: string;
}

/** Host to cell. Every request has an id, and its replies carry the same id. Large bodies follow as `data` frames. */
export type HostMessage =
  | StartMessage
  /** body: the code, UTF-8 */
  | {
      t: "run";
      id: number;
      language: Language;
      timeoutMs: number;
      outputBytes: number;
      program?: Program;
      /** how long the run's time may stand still while it waits for functions of the host */
      hostWaitMs?: number;
    }
  /** body: standard input of a run, as far as the cell has granted credit; `end` is set in the last one */
  | { t: "in"; id: number; end?: true }
  /** stop the run with this id and keep the state */
  | { t: "interrupt"; id: number }
  | { t: "vars"; id: number; timeoutMs: number }
  /** value of a variable or expression; a value over `maxBytes` is rejected, or truncated if it is a preview */
  | { t: "get"; id: number; expression: string; format: ValueFormat; maxBytes: number; timeoutMs: number }
  /** names that a prefix can be completed to; runs no code of the session; the reply's data is JSON */
  | { t: "complete"; id: number; kind: CompletionKind; path: readonly string[]; prefix: string; timeoutMs: number }
  /** type, signature, docstring and source of a dotted name; the reply's data is JSON, `null` if there is no such name */
  | { t: "inspect"; id: number; path: readonly string[]; source: boolean; timeoutMs: number }
  /** followed by `data` frames with `size` bytes in total */
  | { t: "set"; id: number; name: string; format: "json" | "bytes" | "text"; size: number; timeoutMs: number }
  | { t: "data"; id: number }
  | { t: "reset"; id: number }
  /** keep a frozen copy of the interpreter under a name */
  | { t: "checkpoint"; id: number; name: string }
  /** continue from a named copy, which is kept */
  | { t: "rollback"; id: number; name: string }
  | { t: "forget"; id: number; name: string }
  /**
   * start a second interpreter from this one's state, in the same cell; `into` is its branch. With `call`, in the middle of
   * a run that waits for the answer to this call: the fork gets the inputs that the call names under `item`
   */
  | { t: "fork"; id: number; into: number; call?: number; item?: number }
  /** body: the functions of the host that programs may call from the next run on, as JSON; replaces the earlier ones */
  | { t: "expose"; id: number }
  /** answer to a `call` of run `id`; the body is JSON, possibly in pieces: the first one has `ok` and the full size */
  | { t: "answer"; id: number; call: number; ok: true; size: number }
  | { t: "answer"; id: number; call: number; ok: false; error: GuestError }
  | { t: "answer"; id: number; call: number }
  /** end a branch that `fork` made */
  | { t: "leave"; id: number }
  /** variables as bytes, one by one; the reply's data is the snapshot */
  | {
      t: "snapshot";
      id: number;
      maxBytes: number;
      timeoutMs: number;
      /** larger values are left out, if the kernel supports this limit */
      maxValueBytes?: number;
      /** give up at once if containers hold more items than this, if the kernel supports this limit */
      maxItems?: number;
      /** how long after the timeout an interpreter that does not react is killed, if the kernel supports this limit */
      graceMs?: number;
    }
  /** followed by `data` frames; the reply's data is a JSON list of the variables that were not restored */
  | { t: "restore"; id: number; size: number; timeoutMs: number }
  /** what the cell's processes use; the answer is a `usage` message of the cell */
  | { t: "usage"; id: number }
  /** part of a file in the workspace, if the kernel serves files; the reply describes the whole file */
  | { t: "file.read"; id: number; path: string; start: number; end: number; timeoutMs: number }
  /** followed by `data` frames, which are appended to the upload; a new number starts a new upload */
  | { t: "file.write"; id: number; upload: number; size: number; timeoutMs: number }
  /** gives an upload its name in the workspace */
  | { t: "file.place"; id: number; upload: number; path: string; timeoutMs: number }
  | { t: "file.drop"; id: number; upload: number; timeoutMs: number }
  | { t: "file.remove"; id: number; path: string; timeoutMs: number }
  /** the reply's data is a page of the list, as JSON */
  | { t: "file.list"; id: number; prefix: string; after: string; limit: number; timeoutMs: number }
  /** the receiver of a bulk transfer is ready for this many more bytes */
  | { t: "credit"; id: number; bytes: number }
  /** a program's connection to its proxy, by the id that the cell chose: data, end of data, closed */
  | { t: "net.data"; id: number }
  | { t: "net.end"; id: number }
  | { t: "net.close"; id: number }
  | { t: "net.credit"; id: number; bytes: number };

const maxChangedFiles = 1000;

const id = z.int().min(0).max(Number.MAX_SAFE_INTEGER);
const count = z.int().min(0).max(Number.MAX_SAFE_INTEGER);
const text = z.string();

const variable = z.object({ name: text, type: text, size: count.optional().catch(undefined), summary: text });
/** A variable of a session, without its value. */
export type Variable = z.output<typeof variable>;

const runError = z.object({ name: text, message: text, traceback: text });
/** The exception that ended a program. */
export type RunError = z.output<typeof runError>;

/** A file that a run created or changed, as the cell reports it. User code can forge it: a hint, not a fact. */
const changedFile = z.object({ path: text.max(4096), size: count, modifiedMs: count });
export type ChangedFile = z.output<typeof changedFile>;

/** The facts by which the cell tells one content of a file from another. Not a hash of them, which a program might bring back. */
const fileVersion = text.max(128);

/** How the cell describes a file that it serves; `version` changes with the content. */
const cellFile = z.object({
  size: count,
  modifiedMs: count,
  version: fileVersion,
  /** bytes of a sparse file that were never written; absent: none */
  holes: count.optional(),
  /** it was changed just now, and the next change may have the same version; absent: no two changes have */
  settling: z.boolean().optional(),
});
export type CellFile = z.output<typeof cellFile>;

const done = z.object({
  t: z.literal("done"),
  id,
  status: z.enum(["ok", "error", "timeout", "interrupted", "out_of_memory", "output_limit", "crashed", "cancelled"]),
  state: z.enum(["kept", "recovered", "lost"]),
  /** exit code of the program: 0, the one it chose, or 1 */
  exitCode: z.int().min(0).max(255).optional(),
  /** repr of the last expression's value */
  result: text.optional(),
  /** whether the repr was truncated */
  resultTruncated: z.boolean().optional(),
  error: runError.optional(),
  /** the line of its code that was running when it was interrupted */
  line: count.optional(),
  /** full sizes; the stream may have carried less; left out if nothing was printed */
  stdoutBytes: count.default(0),
  stderrBytes: count.default(0),
  /** processor time of the run in microseconds, and the largest resident size of the interpreter so far */
  cpuUs: count.optional(),
  peakBytes: count.optional(),
  /** what was lost or killed, one sentence each */
  notes: z.array(text).max(32).default([]),
  /** after a recovery: the run whose end state was restored; 0 is the fresh interpreter */
  recoveredTo: count.optional(),
  signal: count.optional(),
  /** files in the workspace that the run created or changed */
  files: z.array(changedFile).max(maxChangedFiles).optional(),
  /** false if more files changed than `files` may list */
  filesComplete: z.boolean().optional(),
});

/** Cell to host. Untrusted: a forged message can only lie about its own session. */
export const cellMessage = z.discriminatedUnion("t", [
  z.object({
    t: z.literal("hello"),
    protocol: z.literal(protocolVersion),
    python: text,
    languages: z.array(text),
    features: z.array(text).default([]),
  }),
  z.object({ t: z.literal("ready") }),
  /** the cell could not be set up; with a branch: one of its interpreters is lost. `reason` is for the log */
  z.object({ t: z.literal("failed"), reason: text }),
  /** body: bytes that the program printed; `skipped`: how many bytes of the stream before them were left out */
  z.object({ t: z.literal("out"), id, stream: z.enum(["stdout", "stderr"]), skipped: count.optional() }),
  /** bytes that the program printed so far and the cell keeps: what a result has room for follows at the end of the run */
  z.object({ t: z.literal("held"), id, bytes: count }),
  /** body: one representation of a displayed value, possibly in pieces */
  z.object({ t: z.literal("display"), id, display: count, mime: text.max(200), more: z.boolean() }),
  done,
  /** what the cell's processes use, by the supervisor's count */
  z.object({ t: z.literal("usage"), cpuMs: count, memoryBytes: count, peakMemoryBytes: count }),
  /** end of a request that is not a run */
  z.object({
    t: z.literal("reply"),
    id,
    ok: z.boolean(),
    /** the request killed the interpreter: what is left of its state */
    state: z.enum(["recovered", "lost"]).optional(),
    recoveredTo: count.optional(),
    code: z
      .enum([
        "variable_missing",
        "variable_unserializable",
        "expression_failed",
        "too_large",
        "checkpoint_unknown",
        "file_missing",
        "file_refused",
        "timeout",
        "cell_lost",
      ])
      .optional(),
    message: text.optional(),
    /** total size in bytes of the `data` frames before this reply */
    size: count.optional(),
    file: cellFile.optional(),
  }),
  z.object({ t: z.literal("data"), id }),
  z.object({ t: z.literal("credit"), id, bytes: count }),
  /** run `id` calls a function of the host; the body is JSON, possibly in pieces: the first one has the name and the full size */
  z.object({ t: z.literal("call"), id, call: count, name: text.max(64).optional(), size: count.optional() }),
  /** the program no longer waits for the answer to this call */
  z.object({ t: z.literal("call.drop"), id, call: count }),
  /** the interpreter is ready for this many more bytes of answers */
  z.object({ t: z.literal("call.credit"), bytes: count }),
  /** a program has connected to its proxy */
  z.object({ t: z.literal("net.open"), id }),
  z.object({ t: z.literal("net.data"), id }),
  z.object({ t: z.literal("net.end"), id }),
  z.object({ t: z.literal("net.close"), id }),
  z.object({ t: z.literal("net.credit"), id, bytes: count }),
  /** the interpreter died between two runs */
  z.object({
    t: z.literal("lost"),
    state: z.enum(["recovered", "lost"]),
    recoveredTo: count.optional(),
    notes: z.array(text).max(32),
  }),
  /** the process that held a checkpoint has exited */
  z.object({ t: z.literal("gone"), name: text.max(64) }),
]);
export type CellMessage = z.output<typeof cellMessage>;
/** Messages about connections of the cell's programs to their proxy. */
export type NetMessage = Extract<CellMessage, { t: `net.${string}` }>;
export type DoneMessage = z.output<typeof done>;

/** body of the `vars` reply */
export const variableList = z.array(variable).max(10_000);

/** A name that the cell offers. It is shorter than a screen, but may hold any character. */
const completion = z.object({ text: text.max(500), kind: text.max(20) });

/** body of the `complete` reply */
export const completionList = z.object({ matches: z.array(completion).max(1000), truncated: z.boolean() });
export type CompletionList = z.output<typeof completionList>;

const inspected = z.object({
  name: text.max(10_000),
  type: text.max(2000),
  signature: text.max(4000).optional(),
  doc: text.max(40_000).optional(),
  /** the beginning of its repr */
  value: text.max(600).optional(),
  length: text.max(20).optional(),
  /** where it is defined, as a path in the cell */
  file: text.max(2000).optional(),
  source: text.max(120_000).optional(),
  truncated: z.boolean().default(false),
});
/** What is known of a name of a session. Everything in it comes from the cell. */
export type Inspection = z.output<typeof inspected>;

/** body of the `inspect` reply; null: there is no such name */
export const inspection = inspected.nullable();

const restoreFailure = z.object({ name: text.max(1000), reason: text.max(2000) });
/** A variable of a snapshot that could not be restored. */
export type RestoreFailure = z.output<typeof restoreFailure>;

/** body of the `restore` reply */
export const restoreFailures = z.array(restoreFailure).max(10_000);

/** body of the `file.list` reply; its paths are untrusted */
export const cellFileList = z.object({
  files: z.array(changedFile.extend({ version: fileVersion.optional() })).max(10_000),
  next: text.max(4096).optional(),
  leftOut: count,
  truncated: z.boolean(),
});
export type CellFileList = z.output<typeof cellFileList>;
