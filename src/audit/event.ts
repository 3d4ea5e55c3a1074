import { z } from "zod";
import { valueHider } from "../lib/hide-values.ts";

const count = z.int().min(0);
const digest = z.string().regex(/^[0-9a-f]{64}$/);
const text = z.string();
const session = { session: text };
/** The number of a run in its session, as its history counts. */
const inRun = { ...session, run: count };

/** The last line of a chain, as somebody saw it: enough to find out later whether lines before it are missing. */
const chainHeadSchema = z.strictObject({ chain: text, seq: count, hash: digest });
/** The last line of a chain: whoever keeps it elsewhere can tell later that nothing before it was taken away. */
export type ChainHead = Readonly<z.output<typeof chainHeadSchema>>;

const traffic = z.strictObject({ host: text, bytesIn: count, bytesOut: count });
const changedFile = z.strictObject({ name: text, size: count, sha256: digest });
const change = z.strictObject({ rule: text, from: text, to: text, direction: text });

const event = <Type extends string, Shape extends z.ZodRawShape>(type: Type, shape: Shape) =>
  z.strictObject({ type: z.literal(type), ...shape });

/**
 * Everything that is written down, in the format of version 1. A value of `env` is in none of them: names of rules and
 * hashes stand for what a policy holds.
 */
export const auditEventSchema = z.discriminatedUnion("type", [
  /** a process begins to write; the heads of all other chains at that moment witness that those existed */
  event("audit.opened", { pid: count, others: z.array(chainHeadSchema) }),
  /** it stopped in good order; a chain that goes on without this was left by a crash */
  event("audit.closed", {}),
  /** the line before this one was cut by a crash; its hash is here, so that nobody changes what is left of it */
  event("audit.torn", { bytes: count, sha256: digest }),
  /** events that could not be written, such as on a full disk */
  event("audit.lost", { events: count, why: text }),
  /** the oldest files were removed because the policy keeps no more; `hash` is that of the last line removed */
  event("audit.pruned", { files: z.array(text), throughSeq: count, hash: digest, why: text }),

  event("session.opened", {
    ...session,
    runner: text,
    policy: digest,
    /** `saved`: known from disk; `fork`: begun from the variables of the session in `from` */
    origin: z.enum(["new", "saved", "fork"]),
    from: text.optional(),
  }),
  event("session.restored", { ...session, fromRun: count, missing: z.array(text), problem: text.optional() }),
  /** the interpreter was lost in a run, and what came back of it */
  event("session.recovered", { ...inRun, state: z.enum(["recovered", "lost"]), recoveredTo: count.optional() }),
  event("session.reset", session),
  event("session.checkpoint", { ...session, name: text }),
  event("session.rollback", { ...session, name: text }),
  /** `why` where it was not the caller's doing */
  event("session.closed", { ...session, isKept: z.boolean(), why: text.optional() }),

  event("run.started", {
    ...inRun,
    language: text,
    runner: text,
    policy: digest,
    codeHash: digest,
    codeBytes: count,
    /** absent where the policy says `audit.code: hash` */
    code: text.optional(),
    timeoutMs: z.number(),
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
    /** processor time of the cell since the run before ended, where the runner can tell */
    cpuMs: z.number().optional(),
    /** most memory that the cell has used so far */
    peakMemoryBytes: count.optional(),
    network: z.array(traffic),
    files: z.array(changedFile),
    /** changed files that are no artifacts: too large, links, bad names */
    filesLeftOut: count,
  }),

  event("file.loaded", { ...session, path: text, variable: text, bytes: count, sha256: digest }),
  /** a file of the host that was asked for and not given */
  event("file.denied", { ...session, path: text, code: text, rule: text.optional() }),
  event("file.uploaded", { ...session, path: text, bytes: count, sha256: digest }),
  event("file.downloaded", { ...session, path: text, start: count, bytes: count, size: count }),

  event("egress.allowed", { ...session, host: text, port: count, address: text.optional() }),
  event("egress.denied", { ...session, host: text, port: count, reason: text }),
  event("model.call", {
    ...session,
    run: count.optional(),
    model: text,
    inputTokens: count,
    outputTokens: count,
    costUsd: z.number().optional(),
    status: text,
  }),
  /** rules that somebody changed for this process: flags of the command line, a host program, a model */
  event("override.applied", {
    session: text.optional(),
    by: text,
    policy: digest,
    changes: z.array(change),
  }),
]);

/** One thing that happened, of the kind that `type` names; docs/audit.md has every kind. */
export type AuditEvent = Readonly<z.output<typeof auditEventSchema>>;
export type AuditEventType = AuditEvent["type"];
export const auditEventTypes: readonly AuditEventType[] = auditEventSchema.options.map(
  (option) => option.shape.type.value,
);

/** How an event becomes JSON without the values of environment variables: their names stand in their place. */
export function eventWriter(env: Readonly<Record<string, string>> = {}): (event: object) => string {
  const hide = valueHider(env);
  if (!hide) return (event) => JSON.stringify(event);
  return (event) => JSON.stringify(event, (_key, item) => (typeof item === "string" ? hide(item) : item));
}
