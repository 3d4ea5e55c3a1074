import type { Codecell, CodecellOptions } from "../../sessions/codecell.ts";
import type { RunResult } from "../../sessions/run.ts";
import type { StoredSessions } from "../../sessions/stored-sessions.ts";

/** Shapes that sessions hand to a surface. A surface does not know the layers that made them. */
export type Runner = CodecellOptions["runners"][number];
export type Choice = Codecell["choice"];
export type Plan = Choice["plan"];
export type Receipt = RunResult["receipt"];
export type RunStatus = RunResult["status"];
export type Artifact = RunResult["artifacts"][number];
export type WorkspaceFiles = Awaited<ReturnType<StoredSessions["files"]>>;
export type FileList = Awaited<ReturnType<WorkspaceFiles["list"]>>;
export type ProbeAnswer = Awaited<ReturnType<Runner["probe"]>>;
