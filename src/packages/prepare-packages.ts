import { access } from "node:fs/promises";
import { CodecellError, messageOf } from "../lib/errors.ts";
import { diskFailure } from "../lib/files/disk-failure.ts";
import { type ConfiguredIndexes, configuredIndexes } from "./index/configured-indexes.ts";
import { packageError } from "./package-error.ts";
import { defaultLimits, type PackageLimits } from "./package-limits.ts";
import type { PackageProgress } from "./package-progress.ts";
import type { PackageRequest } from "./package-request.ts";
import type { PackageTarget } from "./package-target.ts";
import type { PreparedPackage, PreparedPackages } from "./prepared-packages.ts";
import { markerHolds } from "./requirements/marker.ts";
import { markerEnvironment } from "./requirements/marker-environment.ts";
import { type ParsedRequest, parseRequests } from "./requirements/parsed-request.ts";
import { isPinned } from "./requirements/version-range.ts";
import type { ResolveRules } from "./resolve-rules.ts";
import type { BuildWheel } from "./sdists/build-wheel.ts";
import type { SdistBuilds } from "./sdists/sdist-builds.ts";
import { type LockRecord, lockName, readLock, writeLock } from "./store/lock-records.ts";
import { buildSet, findSet, setKey } from "./store/package-set.ts";
import { makePackageStore, type PackageStore } from "./store/package-store.ts";
import { WheelStore, wheelPath } from "./store/wheel-store.ts";
import { supportedTags } from "./wheels/wheel-tags.ts";

export interface PrepareOptions {
  readonly rules: ResolveRules;
  readonly target: PackageTarget;
  /** private to this user; below it, only `sets` is for cells */
  readonly cacheDir: string;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((event: PackageProgress) => void) | undefined;
  readonly nowMs?: number;
  /** use what was resolved before, however long ago, and never the network */
  readonly offline?: boolean;
  /** resolve again although there is a recent answer */
  readonly refresh?: boolean;
  readonly limits?: Partial<PackageLimits>;
  /** what the cell has already, by normalised name: it is not a part of the set, and keeps its version */
  readonly installed?: ReadonlyMap<string, string>;
  /** where pip's configuration is looked up if `rules.index` is empty */
  readonly environment?: NodeJS.ProcessEnv;
  /** builds what `rules.sdists` names; absent: nothing is built */
  readonly buildWheel?: BuildWheel | undefined;
  /** how many builds wait for these packages; the requirements of build requirements must be wheels */
  readonly depth?: number;
}

/** A source distribution may need another one to be built, and that one only wheels. */
const deepestBuild = 1;

/** How long an answer for requirements that are not pinned is used without asking the index again. */
const freshMs = 24 * 3_600_000;

/**
 * Resolves, downloads, checks and unpacks packages. Nothing of them is executed, and a failure leaves nothing half installed.
 * Everything that an index sends is untrusted; docs/adr/0043-packages-resolved-on-the-host.md has the rules.
 */
export async function preparePackages(
  requests: readonly PackageRequest[],
  options: PrepareOptions,
): Promise<PreparedPackages> {
  const parsed = parseRequests(requests, options.rules.hashes);
  const indexes = await configuredIndexes(options.rules.index, options.environment ?? process.env);
  const question = {
    requests: parsed.map(({ text, hashes }) => ({ requirement: text, hashes: [...hashes] })),
    target: options.target,
    rules: options.rules,
    indexes: indexes.identity,
    ...(options.installed ? { installed: options.installed } : {}),
  };
  const name = lockName(question);
  try {
    const store = await makePackageStore(options.cacheDir);
    const lock = await readLock(store, name);
    const known = lock && isUsable(lock, parsed, options) ? await fromStore(store, lock, options) : undefined;
    if (known) return known;
    if (options.offline) throw nothingOffline(parsed, lock !== undefined);
    return await fromIndex({ store, name, parsed, indexes }, options);
  } catch (error) {
    throw explained(error, options.signal);
  }
}

/** Requirements that are all pinned with == mean the same tomorrow; others are resolved again once a day. */
function isUsable(lock: LockRecord, parsed: readonly ParsedRequest[], options: PrepareOptions): boolean {
  if (options.offline) return true;
  if (options.refresh) return false;
  const ageMs = (options.nowMs ?? Date.now()) - lock.resolvedMs;
  return (ageMs >= 0 && ageMs < freshMs) || parsed.every(({ requirement }) => isPinned(requirement.range));
}

async function fromStore(
  store: PackageStore,
  lock: LockRecord,
  options: PrepareOptions,
): Promise<PreparedPackages | undefined> {
  const { packages } = lock;
  const key = setKey(packages.map(({ sha256 }) => sha256));
  const directory = await findSet(store, key);
  if (directory !== undefined) return { key, directory, packages, fromCache: true };
  // the set was removed, but its wheels may still be there
  const isThere = await Promise.all(packages.map(({ sha256 }) => exists(wheelPath(store, sha256))));
  if (!isThere.every(Boolean)) return undefined;
  return { key, directory: await build(store, packages, options), packages, fromCache: false };
}

interface IndexWork {
  readonly store: PackageStore;
  readonly name: string;
  readonly parsed: readonly ParsedRequest[];
  readonly indexes: ConfiguredIndexes;
}

async function fromIndex(
  { store, name, parsed, indexes }: IndexWork,
  options: PrepareOptions,
): Promise<PreparedPackages> {
  // Loaded here: a start whose packages are cached needs none of it, and TLS alone takes 10 ms.
  const [{ readCertificates }, { IndexRequests }, { IndexSource }, { resolvePackages }] = await Promise.all([
    import("./index/index-certificates.ts"),
    import("./index/index-requests.ts"),
    import("./resolve/package-source.ts"),
    import("./resolve/resolve-packages.ts"),
  ]);
  const { rules, target, installed, signal, onProgress, environment = process.env } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const nowMs = options.nowMs ?? Date.now();
  const [addresses, certificates] = await Promise.all([indexes.addresses(), readCertificates(environment)]);
  using requests = new IndexRequests({ limits, signal, ...(certificates === undefined ? {} : { certificates }) });
  const wheels = new WheelStore(store, { requests, limits, onProgress });
  const sdists = await sdistBuilds({ store, downloads: wheels, limits }, options);
  const marks = markerEnvironment(target);
  // Lines for another Python say nothing here, and their hashes are those of other files.
  const applying = parsed.filter(({ requirement: { marker } }) => !marker || markerHolds(marker, marks, []));
  const source = new IndexSource({
    ...{ indexes: addresses, requests, store, wheels, sdists, limits, onProgress },
    rules: { target, tags: supportedTags(target), rules: sdists ? rules : { ...rules, sdists: [] }, nowMs },
    requestedHashes: hashesByName(applying),
  });
  const roots = applying.map(({ requirement, from }) => ({ requirement, by: from, because: [] }));
  const chosen = await resolvePackages(roots, { source, target, environment: marks, rules, limits, installed, signal });
  const downloads = chosen.map(async (candidate): Promise<PreparedPackage> => {
    const sha256 = await wheels.get(candidate);
    const { name, version, page, file } = candidate;
    if (sdists && candidate.kind === "sdist") {
      const built = await sdists.wheel(candidate);
      const from = { index: page.index.shown, sdist: sha256 };
      return { name, version, sha256: built.sha256, wheel: built.fileName, ...from };
    }
    return { name, version, sha256, index: page.index.shown, wheel: file.name };
  });
  const packages = await Promise.all(downloads).catch(async (error: unknown) => {
    requests[Symbol.dispose]();
    await Promise.allSettled(downloads); // their drafts are removed when this returns
    throw error;
  });
  packages.sort((a, b) => (a.name < b.name ? -1 : 1));
  const key = setKey(packages.map(({ sha256 }) => sha256));
  const directory = (await findSet(store, key)) ?? (await build(store, packages, options));
  await writeLock(store, name, { resolvedMs: nowMs, packages });
  return { key, directory, packages, fromCache: false };
}

/** Undefined: nothing may be built. */
async function sdistBuilds(
  parts: { readonly store: PackageStore; readonly downloads: WheelStore; readonly limits: PackageLimits },
  options: PrepareOptions,
): Promise<SdistBuilds | undefined> {
  const { rules, target, signal, onProgress, buildWheel, depth = 0 } = options;
  if (!buildWheel || rules.sdists.length === 0) return undefined;
  const { SdistBuilds } = await import("./sdists/sdist-builds.ts");
  const nested = depth < deepestBuild ? rules : { ...rules, sdists: [] };
  const prepare = (requirements: readonly string[], from: string) =>
    preparePackages(
      requirements.map((requirement) => ({ requirement, from })),
      { ...options, rules: nested, depth: depth + 1, refresh: false },
    );
  return new SdistBuilds({ ...parts, target, build: buildWheel, prepare, signal, onProgress });
}

function build(store: PackageStore, packages: readonly PreparedPackage[], options: PrepareOptions): Promise<string> {
  const { signal, onProgress } = options;
  const limits = { ...defaultLimits, ...options.limits };
  return buildSet(store, packages, { limits, signal, onProgress, wheelPath: (sha256) => wheelPath(store, sha256) });
}

function hashesByName(parsed: readonly ParsedRequest[]): Map<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  for (const { requirement, hashes } of parsed) {
    if (hashes.size === 0) continue;
    const known = found.get(requirement.name);
    // two lists for one package: only what both allow
    found.set(requirement.name, known ? new Set([...known].filter((hash) => hashes.has(hash))) : new Set(hashes));
  }
  return found;
}

function nothingOffline(parsed: readonly ParsedRequest[], wasResolved: boolean): CodecellError {
  const names = parsed
    .slice(0, 5)
    .map(({ text }) => text)
    .join(", ");
  const why = wasResolved
    ? "its wheels are no longer in the cache"
    : "these were never prepared with the same rules and Python";
  return packageError("offline", `${names} cannot be prepared offline: ${why}`, { hint: "run it once with a network" });
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

function explained(error: unknown, signal: AbortSignal | undefined): unknown {
  if (signal?.aborted && !(error instanceof CodecellError))
    return new CodecellError("aborted", `packages were not prepared: ${messageOf(signal.reason)}`, {
      cause: signal.reason,
    });
  return diskFailure(error) ?? error;
}
