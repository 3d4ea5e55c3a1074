import { constants, type Stats } from "node:fs";
import { lstat, mkdir, open, realpath } from "node:fs/promises";
import { dirname } from "node:path";
import { CodecellError } from "../../../lib/errors.ts";
import { writeFileAtomically } from "../../../lib/files/atomic-file.ts";
import type { SetupReport } from "./setup-report.ts";

const maxBytes = 4 * 1024 * 1024;

export interface ConfigChange {
  /** absolute path */
  readonly file: string;
  /** the new text; undefined: there is no file, and none is needed. Throws if the text cannot be changed safely. */
  edit(text: string | undefined): string | undefined;
  /** why nothing changed, after the file's name: `already has the server` */
  readonly unchanged: string;
  readonly advice?: string | undefined;
  /** of a new file; one that exists keeps its own */
  readonly mode: number;
  /** what is reported: the whole file, or only the lines that change */
  readonly shows: "all" | "change";
  /** The text as it is reported: without values that may be keys of servers. */
  hide(text: string): string;
}

/** Changes a file of a client and reports it. A file that cannot be read or changed safely stays as it is. */
export async function changeConfig(
  { file, edit, unchanged, advice, mode, shows, hide }: ConfigChange,
  { print, report }: { print: boolean; report: SetupReport },
): Promise<number> {
  const target = await targetOf(file);
  const found = await read(target);
  const before = found?.text;
  const after = edit(before);
  if (after === before || after === undefined) {
    report.tell({ step: "unchanged", why: `${file} ${unchanged}` });
    return 0;
  }
  const content = shows === "all" ? hide(after) : changedLines(hide(before ?? ""), hide(after));
  const step = { file, content, ...(advice ? { advice } : {}) };
  if (print) {
    report.tell({ step: "would write", ...step });
    return 0;
  }
  await mkdir(dirname(target), { recursive: true });
  if ((await read(target))?.text !== before) {
    throw new CodecellError("usage", `${file} was not changed: another program has just changed it`, {
      hint: "run the command again",
    });
  }
  await writeFileAtomically(target, after, found?.stats ?? { mode });
  report.tell({ step: "wrote", ...step });
  return 0;
}

/** The lines that differ, from the first to the last, with `-` and `+` in front. */
export function changedLines(before: string, after: string): string {
  const [old, next] = [before, after].map((text) => text.replace(/\n$/, "").split("\n")) as [string[], string[]];
  let same = 0;
  while (same < Math.min(old.length, next.length) && old[same] === next[same]) same++;
  let tail = 0;
  while (tail < Math.min(old.length, next.length) - same && old.at(-1 - tail) === next.at(-1 - tail)) tail++;
  const gone = before === "" ? [] : old.slice(same, old.length - tail).map((line) => `- ${line}`);
  const come = after === "" ? [] : next.slice(same, next.length - tail).map((line) => `+ ${line}`);
  return [...gone, ...come].map((line) => `${line.trimEnd()}\n`).join("");
}

/** The file that a link leads to. */
async function targetOf(file: string): Promise<string> {
  try {
    return await realpath(file);
  } catch (cause) {
    const entry = await lstat(file).catch(() => undefined);
    if (entry?.isSymbolicLink()) {
      throw unusable(
        file,
        "is a link that leads nowhere",
        "remove the link, or create the file that it leads to",
        cause,
      );
    }
    return file;
  }
}

/**
 * A text file, with its permissions. The attack: a repository with a link to a device or a pipe, which would be read for ever. So
 * nothing waits for a pipe, and no more is read than such a file has.
 */
async function read(file: string): Promise<{ readonly text: string; readonly stats: Stats } | undefined> {
  try {
    await using handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const stats = await handle.stat();
    if (!stats.isFile()) throw unusable(file, "is not a regular file", "remove it first");
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(maxBytes + 1), 0, maxBytes + 1, 0);
    if (bytesRead > maxBytes) throw unusable(file, "was not changed: it is larger than 4 MiB");
    const bytes = buffer.subarray(0, bytesRead);
    return { text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes), stats };
  } catch (cause) {
    if (cause instanceof CodecellError) throw cause;
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    if (cause instanceof TypeError) throw unusable(file, "was not changed: it is not UTF-8", undefined, cause);
    throw unusable(file, `cannot be read: ${code}`, undefined, cause);
  }
}

function unusable(file: string, why: string, hint = "fix the file first", cause?: unknown): CodecellError {
  return new CodecellError("usage", `${file} ${why}`, { hint, cause });
}
