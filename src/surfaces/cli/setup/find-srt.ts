import { constants } from "node:fs";
import { access, readFile, realpath } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { CodecellError } from "../../../lib/errors.ts";

/** The version that the wrap is tested with. In older ones, a wrapped root can remove its own mounts. */
export const srtVersion = "0.0.83";
const srtPackage = "@anthropic-ai/sandbox-runtime";
export const installSrt = `npm install -g ${srtPackage}@${srtVersion}`;

export interface SrtProgram {
  /** its script, which Node runs */
  readonly script: string;
  readonly version: string;
  /** what it runs inside its own sandbox, and must be readable there */
  readonly insideFiles: readonly string[];
  /** directories of the programs that it looks for */
  readonly searchPath: readonly string[];
}

/** Finds an installed srt and its dependencies, or throws with the command that installs what is missing. */
export async function findSrt(searchPath: string, platform: string = process.platform): Promise<SrtProgram> {
  const found = await findProgram("srt", searchPath);
  const srt = found === undefined ? undefined : await identify(await realpath(found));
  if (srt === undefined) {
    const why = found === undefined ? "is not installed" : `is not installed: ${found} is another program`;
    throw missing(`the sandbox runtime (srt) ${why}`, installSrt);
  }
  if (!isAtLeast(srt.version, srtVersion)) {
    throw missing(`srt ${srt.version} is too old: codecell needs ${srtVersion} or newer`, installSrt);
  }
  const needed = platform === "linux" ? ["bwrap", "socat", "rg"] : ["rg"];
  const programs = await Promise.all(needed.map((name) => findProgram(name, searchPath)));
  const absent = needed.filter((_, index) => programs[index] === undefined);
  if (absent.length > 0) {
    const packages = absent.map((name) => ({ bwrap: "bubblewrap", rg: "ripgrep" })[name] ?? name).join(" ");
    const install = platform === "darwin" ? "brew install" : "sudo apt install";
    throw missing(`srt needs ${absent.join(", ")}`, `${install} ${packages}, or the equivalent on your system`);
  }
  const socat = programs[needed.indexOf("socat")];
  return {
    ...srt,
    insideFiles: [join(srt.directory, "vendor"), ...(socat === undefined ? [] : [socat, await realpath(socat)])],
    searchPath: [...new Set(programs.flatMap((path) => (path === undefined ? [] : [dirname(path)])))],
  };
}

/** The package that a script belongs to, if it is srt's. */
async function identify(script: string): Promise<{ script: string; version: string; directory: string } | undefined> {
  for (let directory = dirname(script); directory !== dirname(directory); directory = dirname(directory)) {
    const text = await readFile(join(directory, "package.json"), "utf8").catch(() => undefined);
    if (text === undefined) continue;
    const { name, version } = JSON.parse(text) as { name?: unknown; version?: unknown };
    return name === srtPackage && typeof version === "string" ? { script, version, directory } : undefined;
  }
  return undefined;
}

/** The first program of this name on a search path. */
export async function findProgram(name: string, searchPath: string): Promise<string | undefined> {
  // The attack: with a relative entry, the current directory would choose the program.
  for (const directory of searchPath.split(delimiter).filter((entry) => entry.startsWith("/"))) {
    const path = join(directory, name);
    const isThere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return path;
  }
  return undefined;
}

/** Pure: compares versions number by number. */
export function isAtLeast(version: string, minimum: string): boolean {
  const [a, b] = [version, minimum].map((text) => text.split(/[.-]/).map(Number));
  for (const index of [0, 1, 2]) {
    const [left = 0, right = 0] = [a?.[index], b?.[index]];
    if (left !== right) return left > right; // NaN is never greater
  }
  return true;
}

function missing(message: string, hint: string): CodecellError {
  return new CodecellError("not_supported", message, { hint });
}
