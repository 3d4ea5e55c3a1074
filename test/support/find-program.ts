import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** Where a program is, also one for administrators; undefined: it is not installed. */
export function findProgram(name: string): string | undefined {
  const directories = [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin", "/sbin"];
  return directories.map((directory) => join(directory, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
