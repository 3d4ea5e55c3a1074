import { open, readFile } from "node:fs/promises";

/** Opens only the path: this needs no read permission and starts no device. Node has no constant for it. */
const O_PATH = 0o10000000;

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

/** The mounts of this host. Empty if it has no mount table. */
export async function hostMounts(table = "/proc/self/mountinfo"): Promise<MountinfoEntry[]> {
  const text = await readFile(table, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "";
    throw error;
  });
  return parseMountinfo(text);
}

/** The id of the mount that shows a path, or undefined: a mount may be hidden by another one, and the table does not say so. */
export async function mountIdOf(path: string): Promise<string | undefined> {
  const file = await open(path, O_PATH).catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    return await descriptorMountId(file.fd);
  } finally {
    await file.close();
  }
}

/** The id of the mount that an open file is on, or undefined where the OS does not say. */
export async function descriptorMountId(descriptor: number): Promise<string | undefined> {
  const facts = await readFile(`/proc/self/fdinfo/${descriptor}`, "utf8").catch(() => "");
  return /^mnt_id:\s+(\d+)$/m.exec(facts)?.[1];
}

/** The Linux kernel escapes space, tab, newline and backslash as octal numbers. */
function unescapeOctal(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}
