import type { PackageTarget } from "../package-target.ts";

/** Tags that a Python can import, with a rank: lower is more specific, hence better. */
export type SupportedTags = ReadonlyMap<string, number>;

/** PEP 425 for CPython, PEP 600 for glibc, PEP 656 for musl, PEP 783 for Pyodide. */
export function supportedTags(target: PackageTarget): SupportedTags {
  const minor = Number(target.python.split(".")[1]);
  const own = `cp3${minor}`;
  const platforms = platformsOf(target);
  const older = Array.from({ length: Math.max(0, minor - 2) }, (_, at) => minor - 1 - at);
  const tags = new Map<string, number>();
  const add = (python: string, abi: string, platform: string) => {
    const tag = `${python}-${abi}-${platform}`;
    if (!tags.has(tag)) tags.set(tag, tags.size);
  };
  for (const abi of [own, "abi3", "none"]) for (const platform of platforms) add(own, abi, platform);
  for (const version of older) for (const platform of platforms) add(`cp3${version}`, "abi3", platform);
  const pure = [`py3${minor}`, "py3", ...[...older, 1, 0].map((version) => `py3${version}`)];
  for (const python of pure) for (const platform of platforms) add(python, "none", platform);
  add(own, "none", "any");
  for (const python of pure) add(python, "none", "any");
  return tags;
}

/** The rank of the best of a wheel's tags; undefined: this Python cannot import it. */
export function tagRank(tags: readonly string[], supported: SupportedTags): number | undefined {
  const ranks = tags.flatMap((tag) => supported.get(tag) ?? []);
  return ranks.length === 0 ? undefined : Math.min(...ranks);
}

const legacyNames: Readonly<Record<string, string>> = {
  "2_17": "manylinux2014",
  "2_12": "manylinux2010",
  "2_5": "manylinux1",
};

function platformsOf({ platform, glibc, musl }: PackageTarget): string[] {
  if (!platform.startsWith("linux_")) return [platform.replace(/^pyodide_/, "pyemscripten_"), platform];
  const machine = platform.slice("linux_".length);
  const [glibcMajor, glibcMinor] = glibc ?? [2, -1];
  const glibcs = versions(glibcMajor, Math.min(glibcMinor, 99)).flatMap((version) => {
    const legacy = legacyNames[version];
    return [`manylinux_${version}`, ...(legacy === undefined ? [] : [legacy])];
  });
  const [muslMajor, muslMinor] = musl ?? [1, -1];
  const musls = versions(muslMajor, Math.min(muslMinor, 99)).map((version) => `musllinux_${version}`);
  return [...[...glibcs, ...musls].map((name) => `${name}_${machine}`), platform];
}

/** `2_36`, `2_35` … `2_0` */
function versions(major: number, minor: number): string[] {
  return Array.from({ length: minor + 1 }, (_, at) => `${major}_${minor - at}`);
}
