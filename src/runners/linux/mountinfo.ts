/** One line of /proc/self/mountinfo. */
export interface MountinfoEntry {
  readonly id: string;
  /** numbers of its file system's device */
  readonly device: string;
  /** the part of its file system that is mounted */
  readonly root: string;
  readonly point: string;
  readonly type: string;
  readonly superOptions: readonly string[];
}

/** Pure: `35 31 0:32 <root> <mount point> <options> … - <type> <source> <super options>`, line by line. */
export function parseMountinfo(text: string): MountinfoEntry[] {
  return text.split("\n").flatMap((line) => {
    const [left = "", right = ""] = line.split(" - ");
    const [id, , device, root, point] = left.split(" ");
    const [type, , options = ""] = right.split(" ");
    if (!id || !device || !root || !point || !type) return [];
    const paths = { root: unescapeOctal(root), point: unescapeOctal(point) };
    return [{ id, device, ...paths, type, superOptions: options.split(",") }];
  });
}

/** The Linux kernel writes space, tab, newline and backslash as octal. */
function unescapeOctal(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}
