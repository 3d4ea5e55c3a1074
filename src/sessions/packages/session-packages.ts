import { stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { CodecellError } from "../../lib/errors.ts";
import { firstSignal } from "../../lib/waiting/first-signal.ts";
import { PromiseCache } from "../../lib/waiting/promise-cache.ts";
import { unlessAborted } from "../../lib/waiting/unless-aborted.ts";
import type { PackageProgress } from "../../packages/package-progress.ts";
import type { PackageRequest } from "../../packages/package-request.ts";
import type { PackageTarget } from "../../packages/package-target.ts";
import type { PrepareOptions } from "../../packages/prepare-packages.ts";
import type { BuildWheel } from "../../packages/sdists/build-wheel.ts";
import type { PackageRules } from "../../policy/package-rules.ts";
import type { Policy } from "../../policy/schema.ts";
import type { CellPackages, CellPython } from "../../runners/cell-packages.ts";
import type { SandboxRunner } from "../../runners/runner.ts";
import type { OpenBuildCell } from "./build-cell.ts";
import type { WantedPackages } from "./inside-installs.ts";

/** What a program adds to the rules of `kernel.packages`. All have defaults. */
export interface PackageOptions {
  /** who asked for an entry of `install`, for errors; default: `kernel.packages` */
  readonly origins?: ReadonlyMap<string, string>;
  /** the Python that a script asks for, as in `>=3.11` */
  readonly requiresPython?: string | undefined;
  /** use what is cached, and never the network */
  readonly offline?: boolean | undefined;
  /** what is going on, for people who wait */
  readonly onProgress?: ((event: PackageProgress) => void) | undefined;
  /** the work that was reported is over, with or without success */
  readonly onSettled?: (() => void) | undefined;
  /** @internal packages that are ready, for the cell of a build */
  readonly prepared?: CellPackages | undefined;
}

/** Where packages are cached below the state directory. */
export function packagesDirectory(stateDir: string): string {
  return join(stateDir, "packages");
}

/**
 * The packages of a policy's cells: resolved once for each Python, so that all its sessions have the same versions. Disposing
 * stops downloads and builds, and returns when their cells are gone.
 */
export class SessionPackages implements AsyncDisposable {
  readonly #rules: PackageRules;
  readonly #cacheDir: string;
  readonly #options: PackageOptions;
  readonly #openBuildCell: OpenBuildCell | undefined;
  readonly #closed = new AbortController();
  readonly #sets = new PromiseCache<CellPackages>();
  readonly #preparing = new Set<Promise<CellPackages>>();

  /** `openBuildCell` is where source distributions are built; without it, none is. */
  constructor(
    rules: PackageRules,
    cacheDir: string,
    options: PackageOptions = {},
    openBuildCell: OpenBuildCell | undefined = undefined,
  ) {
    this.#openBuildCell = openBuildCell;
    this.#rules = rules;
    this.#cacheDir = cacheDir;
    this.#options = options;
  }

  /** The packages for the cells of a runner. Undefined: the policy names none. */
  async forRunner(runner: SandboxRunner, policy: Policy, signal?: AbortSignal): Promise<CellPackages | undefined> {
    const { requiresPython, prepared } = this.#options;
    if (prepared) return prepared;
    if (this.#rules.install.length === 0 && requiresPython === undefined) return undefined;
    if (!runner.python) {
      throw new CodecellError("not_supported", `the ${runner.name} runner cannot give cells packages`, {
        hint: "use another runner, or remove kernel.packages",
      });
    }
    const python = await runner.python(policy);
    if (requiresPython !== undefined) await refuseOtherPython(python, requiresPython, runner.name);
    if (this.#rules.install.length === 0) return undefined;
    if (runner.takesWorkspace) await assertReachable(this.#cacheDir);
    const target = targetOf(python);
    // Others may wait for the same set: a caller that gives up does not stop it.
    const making = this.#sets.get(JSON.stringify(target), () => this.#track(this.#prepare(target, runner, policy)));
    return await unlessAborted(making, signal, "the start was aborted");
  }

  /** More packages for one session, as its program asks. They never change what is installed there. */
  async forProgram(runner: SandboxRunner, policy: Policy, wanted: WantedPackages): Promise<CellPackages> {
    if (!runner.python) throw new CodecellError("not_supported", "this runner cannot give cells packages");
    // The attack: a program that writes the hash itself, which is the policy's to give.
    if (this.#rules.hashes)
      throw new CodecellError(
        "usage",
        "the policy requires hashes (kernel.packages.hashes), which programs cannot give",
        {
          hint: "have the packages named in kernel.packages.install",
        },
      );
    const target = targetOf(await runner.python(policy));
    using ending = firstSignal(wanted.signal, this.#closed.signal);
    const requests = wanted.requirements.map((requirement) => ({ requirement, from: "pip install" }));
    const { installed } = wanted;
    return await this.#track(this.#work(requests, runner, policy, { target, installed, signal: ending.signal }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed.abort(new CodecellError("session_closed", "this codecell is closed"));
    await Promise.allSettled(this.#preparing);
  }

  #track(preparing: Promise<CellPackages>): Promise<CellPackages> {
    this.#preparing.add(preparing);
    return preparing.finally(() => this.#preparing.delete(preparing));
  }

  async #prepare(target: PackageTarget, runner: SandboxRunner, policy: Policy): Promise<CellPackages> {
    return this.#work(await this.#requests(), runner, policy, { target, signal: this.#closed.signal });
  }

  async #work(
    requests: readonly PackageRequest[],
    runner: SandboxRunner,
    policy: Policy,
    own: Pick<PrepareOptions, "target" | "installed" | "signal">,
  ): Promise<CellPackages> {
    const { offline = false, onProgress, onSettled } = this.#options;
    try {
      const { preparePackages } = await import("../../packages/prepare-packages.ts");
      return await preparePackages(requests, {
        ...{ rules: this.#rules, cacheDir: this.#cacheDir, offline, onProgress },
        ...own,
        buildWheel: await this.#builder(runner, policy),
      });
    } finally {
      onSettled?.();
    }
  }

  /** Undefined: the policy allows no builds. */
  async #builder(runner: SandboxRunner, policy: Policy): Promise<BuildWheel | undefined> {
    if (!this.#openBuildCell || this.#rules.sdists.length === 0) return undefined;
    const { buildInCells } = await import("./build-in-cell.ts");
    return buildInCells(this.#openBuildCell, runner, policy);
  }

  async #requests(): Promise<PackageRequest[]> {
    const { parseRequirementsFile } = await import("../../packages/requirements/requirements-file.ts");
    return this.#rules.install.flatMap((line) => {
      const from = this.#options.origins?.get(line) ?? "kernel.packages";
      return parseRequirementsFile(line, from).map((request) => ({ ...request, from }));
    });
  }
}

/** Pure: which wheels this Python can load. */
function targetOf({ version, platform, glibc, musl }: CellPython): PackageTarget {
  return {
    python: version.slice(0, 2).join("."),
    fullPython: version.join("."),
    implementation: "cp",
    platform,
    ...(glibc === undefined ? {} : { glibc }),
    ...(musl === undefined ? {} : { musl }),
  };
}

async function refuseOtherPython({ version }: CellPython, wanted: string, runner: string): Promise<void> {
  const { parseRange, rangeContains } = await import("../../packages/requirements/version-range.ts");
  const range = parseRange(wanted);
  const found = version.join(".");
  if (range && rangeContains(range, found)) return;
  throw new CodecellError("usage", `the script needs Python ${wanted}, but the ${runner} runner has ${found}`, {
    hint: "choose another Python with kernel.python or kernel.image in the policy, or another runner",
  });
}

/** Where codecell runs as root, cells have another uid: a closed parent directory would keep them out of their packages. */
async function assertReachable(directory: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  for (let path = dirname(directory); path !== dirname(path); path = dirname(path)) {
    const found = await stat(path).catch(() => undefined);
    if (found === undefined || (found.mode & 0o001) !== 0) continue;
    throw new CodecellError("usage", `cells cannot reach their packages in ${directory}: ${path} is closed to others`, {
      hint: `run \`chmod o+x ${path}\`, or choose another state directory`,
    });
  }
}
