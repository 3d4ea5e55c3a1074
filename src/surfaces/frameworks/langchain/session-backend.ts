import { CodecellError } from "../../../lib/errors.ts";
import { compileGlob, foldName, globProblem, matchesSegments } from "../../../policy/paths/glob.ts";
import { toldError } from "../../../service/tools/code-tool.ts";
import type { CodeSession } from "../../../sessions/code-session.ts";
import { runCommand } from "../run-command.ts";
import { Workspace, type WorkspaceFile, type WorkspaceOptions } from "../workspace.ts";
import { binaryType, decodedText, editedText, encodedContent, pageOf } from "./file-text.ts";

/** The kinds of failure that deepagents knows. */
export type FileOperationError = "file_not_found" | "permission_denied" | "is_directory" | "invalid_path";

/** A file or directory. */
export interface FoundFile {
  path: string;
  is_dir: boolean;
  size: number;
  modified_at: string;
}

/** A line that contains the text that was searched for. */
export interface FoundLine {
  path: string;
  /** from 1 */
  line: number;
  text: string;
}

/** A sandbox of deepagents, version 1: fits its interface `SandboxBackendProtocolV2` without the package. */
export interface DeepAgentsBackend {
  readonly id: string;
  execute(command: string): Promise<{ output: string; exitCode: number | null; truncated: boolean }>;
  ls(path: string): Promise<{ error?: string; files?: FoundFile[] }>;
  read(path: string, offset?: number, limit?: number): Promise<ReadAnswer>;
  readRaw(path: string): Promise<{ error?: string; data?: RawFile }>;
  write(path: string, content: string): Promise<ChangeAnswer>;
  edit(path: string, old: string, replacement: string, all?: boolean): Promise<ChangeAnswer & { occurrences?: number }>;
  grep(
    pattern: string,
    path?: string | null,
    glob?: string | null,
    maxCount?: number | null,
  ): Promise<{ error?: string; matches?: FoundLine[]; truncated?: boolean }>;
  glob(pattern: string, path?: string): Promise<{ error?: string; files?: FoundFile[]; truncated?: boolean }>;
  delete(path: string): Promise<ChangeAnswer>;
  uploadFiles(files: [string, Uint8Array][]): Promise<{ path: string; error: FileOperationError | null }[]>;
  downloadFiles(
    paths: string[],
  ): Promise<{ path: string; content: Uint8Array | null; error: FileOperationError | null }[]>;
}

interface ReadAnswer {
  error?: string;
  content?: string | Uint8Array;
  mimeType?: string;
  totalLines?: number;
  startLine?: number;
  endLine?: number;
  nextOffset?: number;
}

interface RawFile {
  content: string | Uint8Array;
  mimeType: string;
  created_at: string;
  modified_at: string;
}

interface ChangeAnswer {
  error?: string;
  path?: string;
  filesUpdate?: null;
}

/** Where deepagents itself puts long results and old messages. */
const ownDirectories = ["/large_tool_results", "/conversation_history"];
const maxReadBytes = 16 * 2 ** 20;
const maxSearchedBytes = 64 * 2 ** 20;
const maxFileSearchedBytes = 4 * 2 ** 20;
const defaultMatches = 1_000;
const maxLineCharacters = 1_000;

/**
 * The files and the shell of a session as the backend of a deep agent. `execute` runs bash in the cell. The file tools reach the workspace
 * alone, on every runner and while code is running. A failure is an answer with `error`, as deepagents expects, so the agent continues.
 */
export function sessionBackend(
  session: CodeSession,
  options: Pick<WorkspaceOptions, "directory"> = {},
): DeepAgentsBackend {
  const workspace = new Workspace(session, { ...options, ownDirectories });
  const found = ({ path, size, modifiedMs }: WorkspaceFile): FoundFile => ({
    ...{ path: workspace.absolute(path), is_dir: false, size, modified_at: timeText(modifiedMs) },
  });
  /** The file tools start at `/` by default. What they can reach of it is the workspace. */
  const baseOf = (path: string | null | undefined) => (path == null || path === "/" ? workspace.directory : path);

  return {
    id: session.id,
    execute: async (command) => {
      try {
        const { output, exitCode, note, isTruncated } = await runCommand(session, command);
        const said = note === "" ? "" : `${output === "" || output.endsWith("\n") ? "" : "\n"}codecell: ${note}`;
        return { output: `${output}${said}`, exitCode, truncated: isTruncated };
      } catch (error) {
        return { output: `codecell: ${(error as Error).message}`, exitCode: null, truncated: false };
      }
    },
    ls: (path) => answered(async () => ({ files: await listed(workspace, path, found) })),
    read: (path, offset = 0, limit = 500) =>
      answered(async () => {
        const data = await workspace.read(path, maxReadBytes);
        const text = decodedText(data);
        return text === undefined ? { content: data, mimeType: binaryType(path) } : pageOf(text, offset, limit);
      }),
    readRaw: (path) =>
      answered(async () => {
        const data = await workspace.read(path, maxReadBytes);
        const [facts] = (await workspace.list(path)).files;
        const changed = timeText(facts?.modifiedMs ?? Date.now());
        const text = decodedText(data);
        const content = text ?? data;
        const mimeType = text === undefined ? binaryType(path) : "text/plain";
        return { data: { content, mimeType, created_at: changed, modified_at: changed } };
      }),
    write: (path, content) =>
      answered(async () => {
        await workspace.write(path, encodedContent(path, content));
        return { path, filesUpdate: null };
      }),
    edit: (path, old, replacement, all = false) =>
      answered(async () => {
        const text = decodedText(await workspace.read(path, maxReadBytes));
        if (text === undefined) throw new CodecellError("file_refused", `${path} is not UTF-8 text`);
        const edited = editedText(text, old, replacement, all);
        if (edited.text !== text) await workspace.write(path, new TextEncoder().encode(edited.text));
        return { path, filesUpdate: null, occurrences: edited.occurrences };
      }),
    grep: (pattern, path, glob, maxCount) =>
      answered(async () => {
        if (pattern === "") throw new CodecellError("usage", "the text to search for is empty");
        const matches = glob == null || glob === "" ? () => true : matcherOf(glob, false);
        const { files, isTruncated } = await workspace.list(baseOf(path));
        const wanted = files.filter((file) => matches(file.path));
        const limit = maxCount == null || maxCount <= 0 ? defaultMatches : maxCount;
        const lines = await searched(workspace, wanted, pattern, limit);
        return { matches: lines.found, truncated: isTruncated || lines.isTruncated };
      }),
    glob: (pattern, path) =>
      answered(async () => {
        const base = workspace.relative(baseOf(path));
        const isAbsolute = pattern.startsWith(`${workspace.directory}/`);
        const relative = isAbsolute ? pattern.slice(workspace.directory.length) : pattern;
        const matches = matcherOf(relative, true);
        const { files, isTruncated } = await workspace.list(isAbsolute ? workspace.directory : baseOf(path));
        const start = isAbsolute || base === "" ? 0 : base.length + 1;
        const wanted = files.filter((file) => matches(file.path.slice(start)));
        return { files: wanted.map(found), truncated: isTruncated };
      }),
    delete: (path) =>
      answered(async () => {
        const { files, isTruncated } = await workspace.list(path);
        if (isTruncated) throw new CodecellError("too_large", "there are too many files", { hint: "use `rm -r`" });
        if (workspace.relative(path) === "") throw new CodecellError("file_refused", "the workspace itself stays");
        if (files.length === 0) await workspace.remove(path); // a link, or missing
        for (const file of files) await workspace.remove(workspace.absolute(file.path));
        return { path, filesUpdate: null };
      }),
    uploadFiles: (files) =>
      Promise.all(
        files.map(async ([path, data]) => {
          const error = await workspace.write(path, data).then(() => null, operationError);
          return { path, error };
        }),
      ),
    downloadFiles: (paths) =>
      Promise.all(
        paths.map(async (path) => {
          try {
            return { path, content: await workspace.read(path), error: null };
          } catch (error) {
            return { path, content: null, error: operationError(error) };
          }
        }),
      ),
  };
}

async function answered<Answer extends object>(work: () => Promise<Answer>): Promise<Answer | { error: string }> {
  try {
    return await work();
  } catch (error) {
    return { error: toldError(error).message };
  }
}

/** Failures that are none of these, such as a closed session, are thrown: a code would hide them. */
function operationError(error: unknown): FileOperationError {
  const { code, message } = Object(error);
  if (code === "file_missing") return "file_not_found";
  if (code === "too_large") return "permission_denied";
  if (code !== "file_refused") throw toldError(error);
  if (/directory/.test(message)) return "is_directory";
  return /denied|policy/.test(message) ? "permission_denied" : "invalid_path";
}

/** The files and directories of a directory. At the root it is the workspace, beside what deepagents itself wrote. */
async function listed(
  workspace: Workspace,
  path: string,
  found: (file: WorkspaceFile) => FoundFile,
): Promise<FoundFile[]> {
  if (path === "/") return [directory(workspace.directory, undefined)];
  const base = workspace.relative(path);
  const { files } = await workspace.list(path);
  const below = new Map<string, FoundFile>();
  for (const file of files) {
    const [name = "", ...rest] = file.path.slice(base === "" ? 0 : base.length + 1).split("/");
    const own = base === "" ? name : `${base}/${name}`;
    if (rest.length === 0) below.set(name, found(file));
    else below.set(name, directory(workspace.absolute(own), [below.get(name)?.modified_at, found(file).modified_at]));
  }
  return [...below.values()];
}

function directory(path: string, times: readonly (string | undefined)[] | undefined): FoundFile {
  const latest = times?.reduce<string>((last, time) => (time !== undefined && time > last ? time : last), "");
  return { path: `${path}/`, is_dir: true, size: 0, modified_at: latest || new Date(0).toISOString() };
}

/** Whether a path matches. `anchored`: from its start; otherwise its last parts. */
function matcherOf(pattern: string, anchored: boolean): (path: string) => boolean {
  const whole = anchored && !pattern.startsWith("/") ? `/${pattern}` : pattern;
  const text = /(?:^|\/)\*\*$/.test(whole) ? `${whole}/*` : whole;
  const problem = globProblem(text);
  if (problem !== undefined)
    throw new CodecellError("usage", `${pattern.slice(0, 200)} is not a valid glob: ${problem}`);
  const { alternatives } = compileGlob(text);
  return (path) => {
    const segments = path.split("/").map(foldName);
    return alternatives.some((alternative) => matchesSegments(alternative, segments));
  };
}

/** A text and not a regular expression: no pattern can block this process. */
async function searched(workspace: Workspace, files: readonly WorkspaceFile[], pattern: string, limit: number) {
  const found: FoundLine[] = [];
  let bytes = 0;
  let isTruncated = false;
  for (const file of files) {
    if (file.size > maxFileSearchedBytes || bytes + file.size > maxSearchedBytes) {
      isTruncated = true;
      continue;
    }
    bytes += file.size;
    const path = workspace.absolute(file.path);
    const text = decodedText(await workspace.read(path).catch(() => new Uint8Array([0])));
    if (text === undefined || !text.includes(pattern)) continue;
    for (const [index, line] of text.split("\n").entries()) {
      if (!line.includes(pattern)) continue;
      if (found.length >= limit) return { found, isTruncated: true };
      found.push({ path, line: index + 1, text: line.slice(0, maxLineCharacters) });
    }
  }
  return { found, isTruncated };
}

/** A program can set any time on its files, even one outside the range of `Date`: then it is the beginning of 1970. */
function timeText(ms: number): string {
  const date = new Date(ms);
  return (Number.isNaN(date.getTime()) ? new Date(0) : date).toISOString();
}
