/** One line of /proc/self/mountinfo. */
export interface MountinfoEntry {
  readonly id: string;
  /** device numbers of its file system */
  readonly device: string;
  /** the part of its file system that is mounted */
  readonly root: string;
  readonly point: string;
  readonly type: string;
  readonly superOptions: readonly string[];
}

/** Pure: parses lines of the form `35 31 0:32 <root> <mount point> <options> … - <type> <source> <super options>`. */
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

/** The Linux kernel escapes space, tab, newline and backslash as octal numbers. */
function unescapeOctal(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}
