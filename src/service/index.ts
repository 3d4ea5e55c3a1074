/** Which files of a workspace are listed. */

/** A changed file that is not an artifact, and why. */
export type { LeftOut, LeftOutReason } from "../artifacts/artifact.ts";
/** A part of a file, and a file that is open. */
export type { OpenFile } from "../artifacts/regular-file.ts";
/** A file as it is sent, piece by piece. */
export type { ByteRange, FileStream, ListOptions } from "../artifacts/workspace-file.ts";
/** How a file is written into a workspace. */
export type { WriteOptions } from "../artifacts/write-file.ts";
/** Statistics of the warm pool. */
export type { PoolStatistics } from "../sessions/lifecycle/warm-pool.ts";
/** A host that a run reached, and a host that the policy denied. */
export type { ReachedHost, RefusedHost } from "../sessions/network/egress-record.ts";
/** The events of a run, with their numbers. */
export type { NumberedEvent, RunLog } from "../sessions/runs/run-log.ts";
/** A budget for request bodies that are held in memory. */
export { BodyMemory, type MemoryLease } from "./body-memory.ts";
/** Opens the sandbox of a server when its first tool is called. */
export { LazySandbox } from "./lazy-sandbox.ts";
/** The pattern of a search. */
export type { LinePattern } from "./output/find-lines.ts";
/** Keeps the full output of runs, to page and search by a handle. */
export {
  type KeptMatches,
  KeptOutput,
  type KeptOutputLimits,
  type KeptPage,
  type KeptResult,
  type StreamSize,
  type TextChoice,
} from "./output/kept-output.ts";
/** The kept streams of a run. */
export type { KeptStream } from "./output/kept-stream.ts";
/** Fits a result into a budget of characters, as data and as text for a model. */
export {
  renderShaped,
  type SectionName,
  type ShapeBudget,
  type ShapedResult,
  type ShapedSection,
  type ShapedText,
  shapeResult,
  shapeStreams,
} from "./output/shape-output.ts";
/** A part of a kept text. */
export type { PageRequest, TextPage } from "./output/text-page.ts";
/** A search in a kept text. */
export type { SearchAnswer, SearchRequest, TextMatch } from "./output/text-search.ts";
/** What a model can do next after a failure. */
export type { NextSteps } from "./replies/error-text.ts";
/** Models that code and sub-agents may call, from the environment of this process. */
export { type ModelChoice, type ModelSource, modelSource } from "./rlm/model-source.ts";
/** Where the trajectories of sub-agents are recorded. */
export type { TrajectoryPlace } from "./rlm/sub-agents.ts";
/** Standard input of a run that gets it from a later call. */
export { LateStdin } from "./runs/late-stdin.ts";
/** Keeps runs that outlive their caller: wait, watch, interrupt, cancel. */
export {
  type FollowedRun,
  type FollowOptions,
  type ReleaseSlot,
  type RunHandle,
  RunRegistry,
  type RunRegistryOptions,
  type RunStarter,
  type RunStartOptions,
  type StartedProgram,
  type StillRunning,
  type WaitOptions,
} from "./runs/run-registry.ts";
/** What the tools of one caller share: sessions, runs, kept output. */
export type { DownloadUrl, Sandbox, SandboxOptions } from "./sandbox.ts";
/** A sandbox for tools over your own `Codecell`. */
export { type SandboxForOptions, sandboxFor } from "./sandbox-for.ts";
/** The sessions that a sandbox works with; a `Codecell` has them. */
export type { Sessions } from "./tenants/tenant-sessions.ts";
/** Calls a tool; a failure becomes a reply that tells the model what to do next. */
export { callTool, type ToolCall, type ToolOutcome } from "./tools/call-tool.ts";
/** Instructions for a model that gets a set of tools. */
export { instructionsFor } from "./tools/instructions.ts";
/** What a policy and its Python mean for a model: limits, hosts, packages. */
export type { FunctionFacts, PolicyFacts, PythonFacts } from "./tools/policy-facts.ts";
/** A tool without a transport: name, description, schemas and handler. */
export {
  type ArtifactLink,
  defineTool,
  type Tool,
  type ToolContent,
  type ToolContext,
  type ToolProgress,
  type ToolReply,
} from "./tools/tool.ts";
/** What a client shows about a tool before the user allows a call. */
export { type HostEffects, hostEffects, type ToolHints, toolHints } from "./tools/tool-hints.ts";
/** The tools of a set, as far as they can work. */
export { type ToolsetOptions, toolsOf } from "./tools/toolset.ts";
/** The names of the sets of tools. */
export { type ToolsetName, toolsetNames } from "./tools/toolset-name.ts";
/** An artifact in the wire format. */
export { encodeArtifact, type WireArtifact } from "./wire/artifact.ts";
/** An error in the wire format. */
export { encodeError, type Failure, type WireError } from "./wire/error.ts";
/** A run in the wire format, ended or still running. */
export { type EncodeRunOptions, encodeRun, encodeRunning, type RunReference, type WireRun } from "./wire/runs/run.ts";
/** One event of a run in the wire format. */
export { encodeRunEvent, type WireRunEvent } from "./wire/runs/run-event.ts";
/** Every object of the wire format as a zod schema and as JSON Schema. */
export { type WireName, wireJsonSchema, wireNames, wireSchemas } from "./wire/schemas.ts";
/** A session in the wire format. */
export { encodeSession, type WireSession } from "./wire/sessions/session.ts";
/** A variable in the wire format. */
export { encodeVariable, type WireVariable } from "./wire/sessions/variable.ts";
