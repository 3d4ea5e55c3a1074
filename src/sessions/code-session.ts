import type { ByteRange, FileList, FileSource, FileStream, ListOptions } from "../artifacts/workspace-file.ts";
import type { RunEvent, RunResult } from "./runs/run.ts";
import type { RunOptions } from "./runs/run-options.ts";

/** One execution, here or on another machine: a promise of its result and an async iterable of its events. */
export interface CodeRun extends Promise<RunResult>, AsyncIterable<RunEvent> {
  /** Stops the run and keeps the state. A second call kills code that ignores the first. */
  interrupt(): void;
}

/** The files of a session's workspace. */
export interface CodeSessionFiles {
  /** Reads a file or a range of it at once; `size` is the whole file's. At most `maxBytes`, by default 64 MiB. */
  read(
    path: string,
    options?: ByteRange & { readonly maxBytes?: number },
  ): Promise<{ readonly data: Uint8Array; readonly size: number }>;
  stream(path: string, range?: ByteRange): Promise<FileStream>;
  list(options?: ListOptions): Promise<FileList>;
  /** Removes a file, or a link itself; never a directory. */
  remove(path: string): Promise<void>;
}

/** What agents and frameworks need of a session: the library's and the client's both have it. */
export interface CodeSession {
  readonly id: string;
  /** Starts a run and returns at once: await it for the result, iterate it for the events. */
  run(code: string, options?: RunOptions): CodeRun;
  /** Puts a file into the workspace. */
  upload(path: string, source: FileSource, signal?: AbortSignal): Promise<{ size: number }>;
  files(): Promise<CodeSessionFiles>;
  /** Ends its cell. A persistent session is saved and can be opened again, unless `forget` removes it for good. */
  close(options?: { forget?: boolean }): Promise<void>;
}
