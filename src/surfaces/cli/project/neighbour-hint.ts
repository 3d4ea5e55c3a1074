import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { printable } from "../../../policy/file/problem.ts";
import type { RunError } from "../../../sessions/runs/run.ts";
import type { Code } from "../shell/read-code.ts";

/** `No module named 'helper'`, and `[Errno 2] No such file or directory: 'data.csv'`: 44 on wasm. */
const missingModule = /^No module named '([A-Za-z_][A-Za-z0-9_]{0,99})(?:\.[A-Za-z0-9_.]{1,200})?'$/;
const missingFile =
  /^(?:\[Errno (?:2|44)\] [^:']{1,100}: '([^'/]{1,200})(?:\/[^']{0,2000})?'|([^'/\s]{1,200}) not found\.)$/;
const plainName = /^[\p{L}\p{N}_][\p{L}\p{N}_ .-]*$/u;

/**
 * What to do if the program misses a file that is beside it on the host. The program can forge its error, so nothing is looked at
 * but whether an entry of that plain name exists beside the script.
 */
export async function neighbourHint(
  error: RunError | undefined,
  { beside, name: script }: Pick<Code, "beside" | "name">,
): Promise<string | undefined> {
  if (error === undefined || beside === undefined) return undefined;
  for (const name of wantedNames(error)) {
    if (!plainName.test(name) || !(await exists(join(beside.path, name)))) continue;
    const place = `${printable(name, 200)} is beside ${printable(script ?? "the script", 200)} on the host, but not in the cell`;
    return `${place}; add --project ${shellWord(beside.shown)} to let the program read that directory`;
  }
  return undefined;
}

function wantedNames({ name, message }: RunError): string[] {
  if (name === "ModuleNotFoundError") {
    const module = missingModule.exec(message)?.[1];
    return module === undefined ? [] : [`${module}.py`, module];
  }
  const [, opened, other] = name === "FileNotFoundError" ? (missingFile.exec(message) ?? []) : [];
  return [opened ?? other ?? ""];
}

function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

/** A word that the user can paste into a shell. */
function shellWord(text: string): string {
  const safe = printable(text, 1024);
  return /^[\w./@+:-]+$/.test(safe) ? safe : `'${safe.replaceAll("'", "'\\''")}'`;
}
