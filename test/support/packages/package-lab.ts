import { mkdtemp, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeTree } from "../../../src/lib/files/remove-tree.ts";
import type { PackageTarget } from "../../../src/packages/package-target.ts";
import { type PrepareOptions, preparePackages } from "../../../src/packages/prepare-packages.ts";
import type { PreparedPackages } from "../../../src/packages/prepared-packages.ts";
import { PackageIndex, type PackageIndexOptions } from "../package-index.ts";

type Changes = Partial<Omit<PrepareOptions, "rules">> & {
  readonly rules?: Partial<PrepareOptions["rules"]>;
  readonly from?: string;
};

/** CPython 3.11 on Debian 12. */
export const debianTarget: PackageTarget = {
  ...{ python: "3.11", fullPython: "3.11.2", implementation: "cp", platform: "linux_x86_64" },
  glibc: [2, 36],
};

/** An index and an empty cache, for one test. */
export class PackageLab implements AsyncDisposable {
  readonly index: PackageIndex;
  readonly cacheDir: string;

  private constructor(index: PackageIndex, cacheDir: string) {
    this.index = index;
    this.cacheDir = cacheDir;
  }

  static async open(options?: PackageIndexOptions): Promise<PackageLab> {
    return new PackageLab(await PackageIndex.start(options), await mkdtemp(join(tmpdir(), "codecell-packages-")));
  }

  /** Prepares requirements as `--with` gives them, on 2026-06-01. */
  prepare(
    requirements: string | readonly string[],
    { rules, from, ...changes }: Changes = {},
  ): Promise<PreparedPackages> {
    const requests = [requirements].flat().map((requirement) => ({ requirement, from: from ?? "--with" }));
    return preparePackages(requests, {
      rules: { index: [this.index.url], allow: ["*"], deny: [], hashes: false, minAgeMs: 0, sdists: [], ...rules },
      ...{ target: debianTarget, cacheDir: this.cacheDir, nowMs: Date.parse("2026-06-01T00:00:00Z"), environment: {} },
      ...changes,
    });
  }

  /** The same, as `name version` texts. */
  async versions(requirements: string | readonly string[], changes: Changes = {}): Promise<string[]> {
    return (await this.prepare(requirements, changes)).packages.map(({ name, version }) => `${name} ${version}`);
  }

  /** What is in the cache: nothing but whole sets, and no draft. */
  async setNames(): Promise<string[]> {
    return readdir(join(this.cacheDir, "sets")).catch(() => []);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.index[Symbol.asyncDispose]();
    await removeTree(this.cacheDir);
  }
}
