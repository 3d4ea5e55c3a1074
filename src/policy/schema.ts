import { z } from "zod";
import { once } from "../lib/once.ts";
import { llmSchemas } from "./host-calls/llm-rules.ts";
import { toolsSchemas } from "./host-calls/tool-rules.ts";
import { isolationLevels } from "./isolation.ts";
import { hostPattern } from "./network/host-pattern.ts";
import { inspectedHosts } from "./network/inspect.ts";
import { netSecret } from "./network/net-secrets.ts";
import { requestRule } from "./network/request-rule.ts";
import { packageSchemas } from "./package-rules.ts";
import { globProblem } from "./paths/glob.ts";
import { duration, size } from "./units.ts";

/** Runners that a policy can name: one per level, weakest first, and one whose level its cluster decides. */
export const runnerNames = [...isolationLevels, "kubernetes"] as const;
/** A runner, as `isolation.runner` names it. */
export type RunnerName = (typeof runnerNames)[number];

/** setTimeout fires at once beyond 2^31 ms, which would turn a huge limit into zero. */
const longestTimeoutMs = 24 * 3_600_000;
const longestSessionMs = 168 * 3_600_000; // a week; a timer can wait 24 days at most
/** below this no interpreter starts, and every run would look like a fault of the program */
const smallestMemoryBytes = 16 * 2 ** 20;
const smallestAuditBytes = 2 ** 20;
const shortestAuditMs = 24 * 3_600_000;

/** Built on first use: that takes 15 ms or more, and a run without a policy file needs none of it. */
const schemas = once(() => {
  const path = z.string("expected a path").min(1, "expected a path").max(4096, "at most 4096 characters");
  const moduleName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_.]{0,99}$/, "expected a module name such as numpy");
  /** A name, a tag and a digest. The attack: a name that the engine reads as an option or a path. */
  const imageName = z
    .string("expected the name of an image")
    .max(255, "at most 255 characters")
    .regex(
      /^[a-z0-9]+(?:[._:-]+[a-z0-9]+)*(?:\/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*(?::[\w][\w.-]{0,127})?(?:@sha256:[0-9a-f]{64})?$/,
      "expected the name of an image such as python:3.12-slim",
    );
  const environmentName = z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, "expected a variable name such as TZ")
    // The attack: variables that control the loader and the interpreters of the cell before any limit applies.
    .refine((name) => !/^(?:LD_|DYLD_|GLIBC_|CODECELL_|GCONV_PATH$|NODE_OPTIONS$|BASH_ENV$)/.test(name), {
      message: "this variable controls the programs that isolate the cell, and cannot be set",
    });
  const environmentValue = z
    .string()
    .max(32_768, "at most 32768 characters")
    .refine((text) => !text.includes("\0"), "a value cannot contain a NUL character");
  const denyGlob = z.string().superRefine((glob, context) => {
    const problem = globProblem(glob.replace(/^!/, ""));
    if (problem) context.addIssue({ code: "custom", message: problem });
  });

  const mount = z.strictObject({
    source: path.describe("Host directory or file; relative to the policy file's directory."),
    target: path.describe("Absolute path inside the cell, such as /data."),
    mode: z.enum(["ro", "rw"]).default("ro").describe("ro or rw."),
  });

  /** Each rule without its default: a policy has defaults, an override has none. */
  const rules = {
    isolation: {
      runner: z
        .enum(["auto", ...runnerNames])
        .describe("The runner to use; auto takes the strongest one available, and never one below the minimum."),
      minimum: z
        .enum(isolationLevels)
        .describe(`The weakest isolation accepted. Weakest first: ${isolationLevels.join(", ")}.`),
    },
    fs: {
      workspace: path.meta({
        description:
          "Host directory at /workspace, read-write. Absent: a private one, removed when the session is closed.",
        examples: ["./work"],
      }),
      deps: path.meta({ description: "Host directory at /deps, read-only. Absent: none.", examples: ["./deps"] }),
      mounts: z
        .array(mount)
        .max(64, "at most 64 mounts")
        .describe("More host directories or files, each with source, target and mode (ro or rw)."),
      deny: z
        .array(denyGlob)
        .max(256, "at most 256 globs")
        .describe(
          "Globs hidden in every mount, in addition to the built-in list; !glob removes an entry of that list.",
        ),
      load: z
        .array(path)
        .max(256, "at most 256 paths")
        .describe("Host directories or files that may be loaded into a variable; the deny globs apply here too."),
    },
    net: {
      enabled: z.boolean().describe("Whether the cell has network access at all."),
      allowlist: z
        .array(hostPattern())
        .max(1024, "at most 1024 hosts")
        .describe("Hosts that may be reached. Empty: none."),
      deny: z
        .array(hostPattern())
        .max(1024, "at most 1024 hosts")
        .describe("Hosts refused even when the allowlist names them."),
      inspect: inspectedHosts().describe(
        "Hosts whose TLS the proxy decrypts, with a certificate authority made for the session: true is all, [] is none.",
      ),
      rules: z
        .array(requestRule())
        .max(256, "at most 256 rules")
        .describe("Methods and paths that requests to a host may use; for TLS, the host must also be in inspect."),
      secrets: z
        .record(environmentName, netSecret())
        .refine((secrets) => Object.keys(secrets).length <= 64, "at most 64 secrets")
        .describe(
          "Variables that hold a placeholder in the cell; the proxy puts the value into requests to named hosts.",
        ),
      connections: z
        .int("expected a whole number")
        .min(1, "at least 1")
        .max(1024, "at most 1024")
        .describe("Connections to the proxy that are open at once."),
      requests: z
        .int("expected a whole number")
        .min(1, "at least 1")
        .max(10_000, "at most 10000")
        .describe("Requests and tunnels per second on average; bursts of four times as many are allowed."),
      sent: size().describe("Bytes that a cell may send in total."),
      received: size().describe("Bytes that a cell may receive in total."),
    },
    proc: {
      timeout: duration()
        .refine((ms) => ms <= longestTimeoutMs, "at most 24h")
        .describe("Wall-clock limit of one run."),
      cpus: z
        .number("expected a number of processors such as 1 or 0.5")
        .min(0.1, "at least 0.1")
        .max(256, "at most 256")
        .describe("Processors the cell may use; a fraction is a share of one."),
      memory: size()
        .refine((bytes) => bytes >= smallestMemoryBytes, "at least 16MiB")
        .describe("Memory of the whole cell, all processes together."),
      pids: z
        .int("expected a whole number")
        .min(8, "at least 8")
        .max(32_768, "at most 32768")
        .describe("Processes and threads alive at once."),
      files: z
        .int("expected a whole number")
        .min(32, "at least 32")
        .max(1_048_576, "at most 1048576")
        .describe("Open files per process."),
      disk: size().describe("Bytes the cell may write to the private workspace and to /tmp."),
      exactDisk: z
        .boolean()
        .describe(
          "Whether a write beyond proc.disk must fail at once; false: codecell may measure a directory, and end a cell late.",
        ),
      output: size().describe("Output kept per run; the rest is truncated and counted."),
      background: z
        .boolean()
        .describe("Whether processes that a run leaves behind keep running until the session is closed."),
    },
    session: {
      recovery: z
        .enum(["auto", "required", "off"])
        .describe(
          "After the interpreter crashes: auto recovers if the runner can, required refuses runners that cannot.",
        ),
      idle: duration()
        .refine((ms) => ms <= longestSessionMs, "at most 168h")
        .describe("A session without a call for this long expires, or is saved if it persists."),
      lifetime: duration()
        .refine((ms) => ms <= longestSessionMs, "at most 168h")
        .describe("A session expires this long after its start, even if it is in use."),
      limit: z
        .int("expected a whole number")
        .min(1, "at least 1")
        .max(10_000, "at most 10000")
        .describe("Sessions open at once; the next one waits or is refused."),
      persist: z
        .boolean()
        .describe("Whether sessions outlive this process: workspace, history and variables are kept on disk."),
      checkpoints: z
        .int("expected a whole number")
        .min(0, "at least 0")
        .max(64, "at most 64")
        .describe("Named checkpoints kept per session."),
      undo: z
        .int("expected a whole number")
        .min(0, "at least 0")
        .max(64, "at most 64")
        .describe("Runs that can be undone: a copy of the interpreter is kept from before each of them. 0: none."),
      pool: z
        .int("expected a whole number")
        .min(0, "at least 0")
        .max(64, "at most 64")
        .describe("Cells kept ready for the next sessions."),
    },
    kernel: {
      preload: z
        .array(moduleName)
        .max(64, "at most 64 modules")
        .describe("Modules imported before the session's first run."),
      python: path.meta({
        description: "Host path of the Python for runners that use the host's. Absent: the best one found.",
        examples: ["/usr/bin/python3"],
      }),
      image: imageName.meta({
        description:
          "Image of container cells; any with Python 3.9 or newer. Absent: the one that `codecell image build` builds.",
        examples: ["python:3.12-slim"],
      }),
    },
    audit: {
      enabled: z.boolean().describe("Whether every event is written to the audit log in the state directory."),
      code: z
        .enum(["full", "hash"])
        .describe(
          "What the audit log records of the code: full is its text (the first 64 KiB) and hash, hash is the hash alone.",
        ),
      durable: z
        .boolean()
        .describe(
          "Whether a run waits until its audit entry is synced to disk; a run that cannot be recorded does not start.",
        ),
      keep: size()
        .refine((bytes) => bytes >= smallestAuditBytes, "at least 1MiB")
        .describe("The oldest audit files are removed when a chain of them is larger than this."),
      age: duration()
        .refine((ms) => ms >= shortestAuditMs, "at least 24h")
        .describe("Audit files whose last line is older than this are removed."),
    },
  } as const;

  const env = z
    .record(environmentName, environmentValue)
    .describe("Environment variables inside the cell. It gets no others from the host.");

  const patchedNet = z
    .strictObject(rules.net)
    .partial()
    .transform(({ sent, received, ...rest }) => ({ ...rest, sentBytes: sent, receivedBytes: received }));

  const patchedProc = z
    .strictObject(rules.proc)
    .partial()
    .transform(({ timeout, memory, disk, output, ...rest }) => ({
      ...rest,
      timeoutMs: timeout,
      memoryBytes: memory,
      diskBytes: disk,
      outputBytes: output,
    }));

  const patchedSession = z
    .strictObject(rules.session)
    .partial()
    .transform(({ idle, lifetime, ...rest }) => ({ ...rest, idleMs: idle, lifetimeMs: lifetime }));

  const patchedAudit = z
    .strictObject(rules.audit)
    .partial()
    .transform(({ keep, age, ...rest }) => ({ ...rest, keepBytes: keep, keepMs: age }));

  /** A part of a policy, without defaults: an override, or the ceiling of overrides. `null` removes a path. */
  const override = z.strictObject({
    isolation: z.strictObject(rules.isolation).partial().optional(),
    fs: z
      .strictObject({ ...rules.fs, workspace: rules.fs.workspace.nullable(), deps: rules.fs.deps.nullable() })
      .partial()
      .optional(),
    net: patchedNet.optional(),
    proc: patchedProc.optional(),
    env: env.optional(),
    session: patchedSession.optional(),
    kernel: z
      .strictObject({
        ...rules.kernel,
        python: rules.kernel.python.nullable(),
        image: rules.kernel.image.nullable(),
        packages: packageSchemas().patch,
      })
      .partial()
      .optional(),
    llm: llmSchemas().patch.optional(),
    tools: toolsSchemas().patch.optional(),
    audit: patchedAudit.optional(),
  });

  const isolation = z.strictObject({
    runner: rules.isolation.runner.default("auto"),
    minimum: rules.isolation.minimum.default("wasm"),
  });

  const fs = z.strictObject({
    workspace: rules.fs.workspace.optional(),
    deps: rules.fs.deps.optional(),
    mounts: rules.fs.mounts.default([]),
    deny: rules.fs.deny.default([]),
    load: rules.fs.load.default([]),
  });

  const net = z
    .strictObject({
      enabled: rules.net.enabled.default(false),
      allowlist: rules.net.allowlist.default([]),
      deny: rules.net.deny.default([]),
      inspect: rules.net.inspect.prefault([]),
      rules: rules.net.rules.default([]),
      secrets: rules.net.secrets.default({}),
      connections: rules.net.connections.default(64),
      requests: rules.net.requests.default(50),
      sent: rules.net.sent.prefault("4GiB"),
      received: rules.net.received.prefault("64GiB"),
    })
    .transform(({ sent, received, ...rest }) => ({ ...rest, sentBytes: sent, receivedBytes: received }));

  /** People write `timeout: 30s`; code reads `timeoutMs`. */
  const proc = z
    .strictObject({
      timeout: rules.proc.timeout.prefault("30s"),
      cpus: rules.proc.cpus.default(1),
      memory: rules.proc.memory.prefault("512MiB"),
      pids: rules.proc.pids.default(64),
      files: rules.proc.files.default(1024),
      disk: rules.proc.disk.prefault("256MiB"),
      exactDisk: rules.proc.exactDisk.default(false),
      output: rules.proc.output.prefault("1MiB"),
      background: rules.proc.background.default(false),
    })
    .transform(({ timeout, memory, disk, output, ...rest }) => ({
      ...rest,
      timeoutMs: timeout,
      memoryBytes: memory,
      diskBytes: disk,
      outputBytes: output,
    }));

  const session = z
    .strictObject({
      recovery: rules.session.recovery.default("auto"),
      idle: rules.session.idle.prefault("30m"),
      lifetime: rules.session.lifetime.prefault("24h"),
      limit: rules.session.limit.default(32),
      persist: rules.session.persist.default(false),
      checkpoints: rules.session.checkpoints.default(8),
      undo: rules.session.undo.default(0),
      pool: rules.session.pool.default(0),
    })
    .transform(({ idle, lifetime, ...rest }) => ({ ...rest, idleMs: idle, lifetimeMs: lifetime }));

  const kernel = z.strictObject({
    preload: rules.kernel.preload.default([]),
    python: rules.kernel.python.optional(),
    image: rules.kernel.image.optional(),
    packages: packageSchemas()
      .section.describe(
        "Packages from an index, at /deps, read-only. The host downloads wheels; nothing of a package runs outside a cell.",
      )
      .prefault({}),
  });

  const audit = z
    .strictObject({
      enabled: rules.audit.enabled.default(true),
      code: rules.audit.code.default("full"),
      durable: rules.audit.durable.default(false),
      keep: rules.audit.keep.prefault("1GiB"),
      age: rules.audit.age.prefault("2160h"),
    })
    .transform(({ keep, age, ...rest }) => ({ ...rest, keepBytes: keep, keepMs: age }));

  const overrides = z.strictObject({
    ceiling: override
      .describe("The most that a host program may request, rule by rule. A rule that is absent here cannot be widened.")
      .prefault({}),
  });

  const policy = z.strictObject({
    version: z.literal(1, "expected 1, the only version").default(1).describe("Version of this format."),
    isolation: isolation.describe("How the code is isolated.").prefault({}),
    fs: fs.describe("Which host files the code can see: none, unless named here.").prefault({}),
    net: net.describe("What the code can reach over the network.").prefault({}),
    proc: proc
      .describe("How much the code may use. Sizes are written 512MiB or 2GB, durations 250ms, 30s, 5m or 1h.")
      .prefault({}),
    env: env.default({}),
    session: session.describe("How long sessions live and what they keep.").prefault({}),
    kernel: kernel.describe("The Python inside the cell.").prefault({}),
    llm: llmSchemas()
      .section.describe(
        "Which models code in the cell may call through the host, and how much: none, unless named here.",
      )
      .prefault({}),
    tools: toolsSchemas()
      .section.describe("Which tools of other MCP servers code in the cell may call: none, unless named here.")
      .prefault({}),
    audit: audit.describe("What the audit log records, and how long it is kept.").prefault({}),
    overrides: overrides
      .describe("How far a host program may change this policy. A model may only narrow it.")
      .prefault({}),
  });

  return { policy, override, net: rules.net };
});

/** A whole policy. */
export const policySchema = () => schemas().policy;
/** A part of a policy, without defaults: an override, or the ceiling of overrides. `null` removes a path. */
export const overrideSchema = () => schemas().override;
/** The network rules, for schemas of a part of them. */
export const netRules = () => schemas().net;

/** What code reads. */
export type Policy = z.output<ReturnType<typeof policySchema>>;
/** What people write. */
export type PolicyInput = z.input<ReturnType<typeof policySchema>>;
/** What a host program or a model requests to change, as people write it. */
export type PolicyOverride = z.input<ReturnType<typeof overrideSchema>>;
/** An override or a ceiling after parsing, with the names that `Policy` has. */
export type PolicyPatch = z.output<ReturnType<typeof overrideSchema>>;
