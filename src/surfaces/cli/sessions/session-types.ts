import type { LiveSessions, LiveSessionsOptions } from "../../../sessions/live-sessions.ts";
import type { RunResult } from "../../../sessions/runs/run.ts";
import type { StoredSessions } from "../../../sessions/storage/stored-sessions.ts";

/** Types of the sessions layer that the CLI uses, so that it does not import the layers below. */
export type Runner = LiveSessionsOptions["runners"][number];
export type InsideSandbox = Runner["insideSandbox"];
export type Choice = LiveSessions["choice"];
export type Plan = Choice["plan"];
export type Receipt = RunResult["receipt"];
export type RunStatus = RunResult["status"];
export type Artifact = RunResult["artifacts"][number];
export type WorkspaceFiles = Awaited<ReturnType<StoredSessions["files"]>>;
export type FileList = Awaited<ReturnType<WorkspaceFiles["list"]>>;
export type ProbeAnswer = Awaited<ReturnType<Runner["probe"]>>;
