import { chmod, mkdir, readFile, realpath, stat } from "node:fs/promises";
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
  /** what is reported: the whole file, or only the lines that change, because the others may hold keys of other servers */
  readonly shows: "all" | "change";
}

/** Changes a file of a client and reports it. A file that cannot be read or changed safely stays as it is. */
export async function changeConfig(
  { file, edit, unchanged, advice, mode, shows }: ConfigChange,
  { print, report }: { print: boolean; report: SetupReport },
): Promise<number> {
  const target = await realpath(file).catch(() => file); // if it is a link, write its target
  const before = await textOf(target);
  const after = edit(before);
  if (after === before || after === undefined) {
    report.tell({ step: "unchanged", why: `${file} ${unchanged}` });
    return 0;
  }
  const content = shows === "all" ? after : changedLines(before ?? "", after);
  const step = { file, content, ...(advice ? { advice } : {}) };
  if (print) {
    report.tell({ step: "would write", ...step });
    return 0;
  }
  const kept = before === undefined ? mode : (await stat(target)).mode & 0o777;
  await mkdir(dirname(target), { recursive: true });
  if ((await textOf(target)) !== before) {
    throw new CodecellError("usage", `${file} was not changed: another program has just changed it`, {
      hint: "run the command again",
    });
  }
  await writeFileAtomically(target, after);
  await chmod(target, kept);
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

async function textOf(file: string): Promise<string | undefined> {
  const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw new CodecellError("usage", `${file} cannot be read: ${error.code}`, {
      hint: "fix the file first",
      cause: error,
    });
  });
  if (bytes === undefined) return undefined;
  if (bytes.byteLength > maxBytes) {
    throw new CodecellError("usage", `${file} was not changed: it is larger than 4 MiB`, {
      hint: "fix the file first",
    });
  }
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new CodecellError("usage", `${file} was not changed: it is not UTF-8`, { hint: "fix the file first", cause });
  }
}
