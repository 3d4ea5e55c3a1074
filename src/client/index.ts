/// <reference lib="esnext.disposable" preserve="true" />
import "./dispose-symbols.ts";

/** The one error of codecell: a code to branch on and a hint to act on. */
export { CodecellError, type CodecellErrorCode } from "../lib/errors.ts";
/** What adapters need of a session: the library's and the client's both have it. */
export type { CodeRun, CodeSession, CodeSessionFiles } from "../sessions/code-session.ts";
/** A function of your program that code in a session may call. */
export type { CallContext, ExposedFunction } from "../sessions/functions/exposed-function.ts";
/** The front door. */
export { type ConnectOptions, connect } from "./connect.ts";
/** A connection to a service. */
export type { AuditPage, AuditQuery, RemoteAuditEvent, RemoteAuditReport, RemoteCodecell } from "./remote-codecell.ts";
/** One execution on a service. */
export type { RemoteRun } from "./run/remote-run.ts";
/** The files of a session's workspace. */
export type { RemoteFiles } from "./session/remote-files.ts";
/** A session on a service. */
export type {
  FileLink,
  LinkOptions,
  RemoteArtifacts,
  RemotePolicy,
  RemoteSession,
  RunProgress,
} from "./session/remote-session.ts";
/** What a run left behind, and how it ended. */
export type { RemoteArtifact } from "./wire/decode-files.ts";
export type { RemoteRunResult } from "./wire/decode-run.ts";
/** What a service knows of a session. */
export type { RemoteRestore, RemoteRunInfo, RemoteSessionInfo, RemoteSnapshot } from "./wire/decode-session.ts";
