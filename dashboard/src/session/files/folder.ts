import type { WireFile } from "../../../../src/service/wire/file.ts";

export interface Folder {
  /** names of the folders in it, with how many of the listed files each holds */
  readonly folders: readonly { readonly name: string; readonly files: number }[];
  readonly files: readonly WireFile[];
}

/** Pure: what of a list of paths is directly in a folder. `folder` is empty or ends with a slash. */
export function folderOf(files: readonly WireFile[], folder: string): Folder {
  const counts = new Map<string, number>();
  const direct: WireFile[] = [];
  for (const file of files) {
    if (!file.name.startsWith(folder)) continue;
    const rest = file.name.slice(folder.length);
    const slash = rest.indexOf("/");
    if (slash === -1) direct.push(file);
    else counts.set(rest.slice(0, slash), (counts.get(rest.slice(0, slash)) ?? 0) + 1);
  }
  return { folders: [...counts].map(([name, count]) => ({ name, files: count })), files: direct };
}

/** Pure: `a/b/` as its parts, each with the path to it. */
export function crumbsOf(folder: string): readonly { readonly name: string; readonly path: string }[] {
  const names = folder.split("/").slice(0, -1);
  return names.map((name, index) => ({ name, path: `${names.slice(0, index + 1).join("/")}/` }));
}
