import { z } from "zod";
import { valueHider } from "../lib/hide-values.ts";

const count = z.int().min(0);
const digest = z.string().regex(/^[0-9a-f]{64}$/);
const text = z.string();
const session = { session: text };
/** The number of a run in its session, as its history counts. */
const inRun = { ...session, run: count };

/** The last line of a chain at some time: enough to detect later that lines up to it are missing. */
const chainHeadSchema = z.strictObject({ chain: text, seq: count, hash: digest });
/** The last line of a chain. Keep it elsewhere to verify later that nothing before it was removed. */
export type ChainHead = Readonly<z.output<typeof chainHeadSchema>>;

const traffic = z.strictObject({ host: text, bytesIn: count, bytesOut: count });
const changedFile = z.strictObject({ name: text, size: count, sha256: digest });
const change = z.strictObject({ rule: text, from: text, to: text, direction: text });

const decidedTool = {
  ...session,
  tool: text,
  /** the MCP server of the tool, and where its definition came from */
  server: text.optional(),
  source: text.optional(),
  /** the sub-agent that made the call; absent: the main agent */
  agent: text.optional(),
  reason: text,
};

/** What is recorded of code; the text is absent with `audit.code: hash`. */
const recordedCode = {
  codeHash: digest,
  codeBytes: count,
  code: text.optional(),
  /** `code` is only the beginning, or is missing because too much was waiting to be written */
  isCodeCut: z.boolean().optional(),
};

const event = <Type extends string, Shape extends z.ZodRawShape>(type: Type, shape: Shape) =>
  z.strictObject({ type: z.literal(type), ...shape });

/**
 * All events, in the format of version 1. They never contain values of `env`: a policy is represented by names of rules and
 * hashes.
 */
export const auditEventSchema = z.discriminatedUnion("type", [
  /** a process starts to write; the heads of all other chains prove later that those lines existed */
  event("audit.opened", { pid: count, others: z.array(chainHeadSchema) }),
  /** it closed the log properly; without this event the process crashed */
  event("audit.closed", {}),
  /** a crash cut the line before this one; its hash protects the rest of it from changes */
  event("audit.torn", { bytes: count, sha256: digest }),
  /** events that could not be written, such as on a full disk */
  event("audit.lost", { events: count, why: text }),
  /** the policy removed the oldest files; `hash` is that of the last line removed */
  event("audit.pruned", { files: z.array(text), throughSeq: count, hash: digest, why: text }),

  event("session.opened", {
    ...session,
    runner: text,
    policy: digest,
    /** `saved`: restored from disk; `fork`: started with the variables of the session in `from` */
    origin: z.enum(["new", "saved", "fork"]),
    from: text.optional(),
  }),
  event("session.restored", { ...session, fromRun: count, missing: z.array(text), problem: text.optional() }),
  /** the interpreter crashed in a run; how much of its state was recovered */
  event("session.recovered", { ...inRun, state: z.enum(["recovered", "lost"]), recoveredTo: count.optional() }),
  event("session.reset", session),
  event("session.checkpoint", { ...session, name: text }),
  event("session.rollback", { ...session, name: text }),
  /** `why` if the caller did not close it */
  event("session.closed", { ...session, isKept: z.boolean(), why: text.optional() }),

  event("run.started", {
    ...inRun,
    language: text,
    runner: text,
    policy: digest,
    ...recordedCode,
    timeoutMs: z.number(),
    /** how many arguments the program got; absent: none were passed */
    args: count.optional(),
  }),
  event("run.ended", {
    ...inRun,
    /** `failed`: codecell itself could not finish the run */
    status: text,
    state: text.optional(),
    exitCode: z.int().optional(),
    /** name of the exception or code of the failure; never its message, which may quote data */
    error: text.optional(),
    durationMs: z.number(),
    stdoutBytes: count,
    stderrBytes: count,
    truncated: z.boolean(),
    /** CPU time of the cell since the previous run ended, if the runner measures it */
    cpuMs: z.number().optional(),
    /** peak memory of the cell so far */
    peakMemoryBytes: count.optional(),
    network: z.array(traffic),
    files: z.array(changedFile),
    /** artifacts that are not in `files`, because their names are too long together */
    filesUnlisted: count.optional(),
    /** changed files that are not artifacts: too large, links, bad names */
    filesLeftOut: count,
  }),
  /** a caller asked for the value of an expression, which is code like any other; plain names of variables are not recorded */
  event("expression.started", { ...session, runner: text, policy: digest, ...recordedCode, timeoutMs: z.number() }),
  /** `bytes`: how much of the value left the cell; `error`: code of the failure */
  event("expression.ended", {
    ...session,
    status: z.enum(["ok", "failed"]),
    error: text.optional(),
    bytes: count,
    durationMs: z.number(),
  }),

  event("file.loaded", { ...session, path: text, variable: text, bytes: count, sha256: digest }),
  /** a host file that was requested and refused */
  event("file.denied", { ...session, path: text, code: text, rule: text.optional() }),
  event("file.uploaded", { ...session, path: text, bytes: count, sha256: digest }),
  event("file.deleted", { ...session, path: text }),
  event("file.downloaded", { ...session, path: text, start: count, bytes: count, size: count }),

  event("egress.allowed", { ...session, host: text, port: count, address: text.optional(), rule: text.optional() }),
  event("egress.denied", { ...session, host: text, port: count, reason: text }),
  /** a program called a function of the host; never its values */
  event("function.called", {
    ...inRun,
    name: text,
    inputBytes: count,
    outputBytes: count,
    durationMs: z.number(),
    /** `refused`: unknown, or with arguments that it does not take */
    status: z.enum(["ok", "failed", "refused"]),
    /** type of the error that the program saw */
    error: text.optional(),
  }),
  /** a call of the host to a model; never its prompt or its answer */
  event("model.call", {
    ...session,
    /** the run or sub-agent that made the call */
    by: text,
    purpose: z.enum(["root", "sub", "extract"]),
    model: text,
    inputTokens: count,
    outputTokens: count,
    cacheReadTokens: count,
    cacheWriteTokens: count,
    /** part of the output tokens */
    reasoningTokens: count,
    /** absent: the model has no price */
    costUsd: z.number().optional(),
    /** absent: nobody was asked */
    source: z.enum(["model", "cache", "tape"]).optional(),
    durationMs: z.number(),
    /** `ok`, or the code of the failure */
    status: text,
  }),
  /** code in a cell called a tool of another MCP server; never its arguments or its result, which are data */
  event("tool.called", {
    ...inRun,
    server: text,
    tool: text,
    /** `refused`: by the policy or a limit; `unavailable`: the server is gone or broke the protocol */
    status: z.enum(["ok", "error", "refused", "timeout", "unavailable", "cancelled"]),
    argumentsBytes: count,
    resultBytes: count,
    durationMs: z.number(),
  }),
  /** the gate of an agent decided about a tool that a model called; never about its input */
  event("tool.allowed", decidedTool),
  event("tool.denied", decidedTool),
  /** rules changed for this process: by command-line flags, a host program or a model */
  event("override.applied", {
    session: text.optional(),
    by: text,
    policy: digest,
    changes: z.array(change),
  }),
]);

/** One event; docs/audit.md lists every `type`. */
export type AuditEvent = Readonly<z.output<typeof auditEventSchema>>;
export type AuditEventType = AuditEvent["type"];
export const auditEventTypes: readonly AuditEventType[] = auditEventSchema.options.map(
  (option) => option.shape.type.value,
);

/** Serializes events, with values of environment variables replaced by their names. */
export function eventWriter(env: Readonly<Record<string, string>> = {}): (event: object) => string {
  const hide = valueHider(env);
  if (!hide) return (event) => JSON.stringify(event);
  return (event) => JSON.stringify(event, (_key, item) => (typeof item === "string" ? hide(item) : item));
}
