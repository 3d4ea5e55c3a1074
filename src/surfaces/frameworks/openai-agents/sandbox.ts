import { posix } from "node:path";
import { CodecellError } from "../../../lib/errors.ts";
import { toldError } from "../../../service/tools/code-tool.ts";
import type { CodeSession } from "../../../sessions/code-session.ts";
import { type CommandResult, clipText, runCommand } from "../run-command.ts";
import { Workspace } from "../workspace.ts";
import { type OpenAiEditor, sessionEditor } from "./editor.ts";

/** The parts of the SDK's `Manifest` that are read here. */
export interface SandboxManifest {
  readonly root: string;
  readonly entries: Readonly<Record<string, SandboxEntry>>;
  readonly environment: object;
  readonly users: readonly unknown[];
  readonly groups: readonly unknown[];
  readonly extraPathGrants: readonly unknown[];
}

/** A file or directory of a manifest. */
export interface SandboxEntry {
  readonly type: string;
  readonly content?: string | Uint8Array;
  readonly children?: Readonly<Record<string, SandboxEntry>>;
  readonly permissions?: unknown;
  readonly group?: unknown;
}

/** A user that the SDK asks for. A cell has one user, so any is refused. */
interface AsUser {
  runAs?: string;
}

/** A command, as the SDK passes it. */
export interface ExecCommand extends AsUser {
  cmd: string;
  workdir?: string;
  shell?: string;
  tty?: boolean;
  maxOutputTokens?: number;
}

/** A sandbox session of the OpenAI Agents SDK: fits its interface `SandboxSession`. */
export interface OpenAiSandbox {
  // biome-ignore lint/suspicious/noExplicitAny: a class of the SDK, which this package does not have
  state: { manifest: any };
  exec(args: ExecCommand): Promise<{
    output: string;
    stdout: string;
    stderr: string;
    wallTimeSeconds: number;
    exitCode: number | null;
  }>;
  execCommand(args: ExecCommand): Promise<string>;
  createEditor(runAs?: string): OpenAiEditor;
  viewImage(args: AsUser & { path: string }): Promise<{ type: "image"; image: { data: string; mediaType: string } }>;
  readFile(args: AsUser & { path: string; maxBytes?: number }): Promise<Uint8Array>;
  listDir(args: AsUser & { path: string }): Promise<{ name: string; path: string; type: "file" | "dir" }[]>;
  pathExists(path: string, runAs?: string): Promise<boolean>;
  directoryExists(path: string, runAs?: string): Promise<boolean>;
  materializeEntry(args: AsUser & { path: string; entry: SandboxEntry }): Promise<void>;
  supportsPty(): boolean;
  close(): Promise<void>;
}

const defaultCharacters = 16_000;
const charactersPerToken = 4;
const maxImageBytes = 10 * 2 ** 20;

export function sandboxOver(session: CodeSession, manifest: SandboxManifest): OpenAiSandbox {
  const workspace = new Workspace(session);
  const materialize = async (path: string, entry: SandboxEntry): Promise<void> => {
    if (entry.permissions !== undefined || entry.group !== undefined) {
      const hint = "leave them out, and run chmod in the sandbox if you need it";
      throw new CodecellError("not_supported", "a codecell sandbox has no permissions and groups of entries", { hint });
    }
    if (entry.type === "file" && entry.content !== undefined) {
      const { content } = entry;
      return workspace.write(path, typeof content === "string" ? new TextEncoder().encode(content) : content);
    }
    if (entry.type !== "dir") {
      const hint = "upload the files with session.upload, or mount them in the policy (fs.mounts)";
      throw new CodecellError("not_supported", `a codecell sandbox has no entries of type ${entry.type}`, { hint });
    }
    const children = Object.entries(entry.children ?? {});
    for (const [name, child] of children) await materialize(posix.join(path, name), child);
    if (children.length > 0) return;
    const { exitCode, output, note } = await runCommand(
      session,
      `mkdir -p -- ${quoted(`./${workspace.relative(path)}`)}`,
    );
    if (exitCode !== 0) throw new CodecellError("file_refused", `${path} was not created: ${output}${note}`);
  };
  const execute = (args: ExecCommand) => runCommand(session, commandOf(args));
  const kindOf = async (path: string, runAs: string | undefined) => {
    refuseUser(runAs);
    const { files } = await workspace.list(path);
    const relative = workspace.relative(path);
    if (files.some((file) => file.path === relative)) return "file";
    return files.length > 0 || relative === "" ? "dir" : undefined;
  };
  return {
    state: { manifest },
    exec: async (args) => {
      const { stdout, stderr, ...result } = await execute(args);
      const { exitCode, durationMs } = result;
      return { output: outputOf(result, args), stdout, stderr, exitCode, wallTimeSeconds: durationMs / 1000 };
    },
    execCommand: async (args) => {
      try {
        const result = await execute(args);
        return `${endingOf(result)}\nOutput:\n${outputOf(result, args)}`;
      } catch (error) {
        // The SDK hides the message of an exception from the model.
        return `The command did not run.\n${toldError(Object(error).cause ?? error).message}`;
      }
    },
    createEditor: (runAs) => {
      refuseUser(runAs);
      return sessionEditor(session);
    },
    viewImage: async ({ path, runAs }) => {
      refuseUser(runAs);
      const data = await told(workspace.read(path, maxImageBytes));
      const mediaType = imageType(data);
      if (mediaType === undefined) throw new CodecellError("file_refused", `${path} is not a supported image`);
      return { type: "image", image: { data: Buffer.from(data).toString("base64"), mediaType } };
    },
    readFile: async ({ path, maxBytes, runAs }) => {
      refuseUser(runAs);
      return told(workspace.read(path, maxBytes));
    },
    listDir: async ({ path, runAs }) => {
      refuseUser(runAs);
      return childrenOf(workspace, path, (await told(workspace.list(path))).files);
    },
    pathExists: async (path, runAs) => (await kindOf(path, runAs)) !== undefined,
    directoryExists: async (path, runAs) => (await kindOf(path, runAs)) === "dir",
    materializeEntry: async ({ path, entry, runAs }) => {
      refuseUser(runAs);
      return told(materialize(path, entry));
    },
    supportsPty: () => false,
    close: () => session.close({ forget: true }),
  };
}

/** What a cell cannot do is refused, so that the model does not take something else for it. */
function commandOf({ cmd, workdir, shell, tty, runAs }: ExecCommand): string {
  if (tty) throw unsupported("there is no terminal in this sandbox", "call again with tty=false");
  refuseUser(runAs);
  if (shell !== undefined && !/^(?:\/usr)?(?:\/bin\/)?(?:ba)?sh$/.test(shell)) {
    throw unsupported(`the shell of this sandbox is bash, not ${shell.slice(0, 80)}`, "call again without shell");
  }
  return workdir === undefined ? cmd : `cd -- ${quoted(workdir)} || exit 1\n${cmd}`;
}

function refuseUser(runAs: string | undefined): void {
  if (runAs !== undefined) throw unsupported("a cell has one user", "remove runAs from the agent");
}

/** As one word of a shell command, whatever is in it. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function unsupported(message: string, hint: string): CodecellError {
  return toldError(new CodecellError("not_supported", message, { hint }));
}

function endingOf({ status, exitCode, durationMs, note }: CommandResult): string {
  const ending = exitCode === null ? `Process was stopped: ${status}` : `Process exited with code ${exitCode}`;
  const time = `Wall time: ${(durationMs / 1000).toFixed(3)} seconds`;
  return [time, ending, ...(note === "" ? [] : [`codecell: ${note}`])].join("\n");
}

function outputOf({ output }: Pick<CommandResult, "output">, { maxOutputTokens }: ExecCommand): string {
  return clipText(output, maxOutputTokens === undefined ? defaultCharacters : maxOutputTokens * charactersPerToken);
}

function childrenOf(workspace: Workspace, path: string, files: readonly { readonly path: string }[]) {
  const base = workspace.relative(path);
  const names = new Map<string, "file" | "dir">();
  for (const file of files) {
    const [name = "", ...rest] = file.path.slice(base === "" ? 0 : base.length + 1).split("/");
    if (name !== "") names.set(name, rest.length > 0 ? "dir" : "file");
  }
  return [...names].map(([name, type]) => ({ name, path: posix.join(path, name), type }));
}

async function told<T>(work: Promise<T>): Promise<T> {
  return work.catch((error: unknown) => {
    throw toldError(error);
  });
}

/** The first bytes of the images that models can read. */
const signatures: readonly (readonly [mediaType: string, start: string])[] = [
  ["image/png", "\x89PNG\r\n\x1a\n"],
  ["image/jpeg", "\xff\xd8\xff"],
  ["image/gif", "GIF8"],
];

function imageType(data: Uint8Array): string | undefined {
  const start = Buffer.from(data.subarray(0, 16)).toString("latin1");
  if (start.startsWith("RIFF") && start.startsWith("WEBP", 8)) return "image/webp";
  return signatures.find(([, signature]) => start.startsWith(signature))?.[0];
}
