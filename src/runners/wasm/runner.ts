import { existsSync } from "node:fs";
import process from "node:process";
import type { KernelSetup } from "../../kernel/messages.ts";
import { CodecellError } from "../../lib/errors.ts";
import { type Logger, silentLogger } from "../../lib/log/logger.ts";
import type { Policy } from "../../policy/schema.ts";
import { type CellPython, packagesTarget } from "../cell-packages.ts";
import { enforcedReceipt } from "../enforced-receipt.ts";
import type { EnforcementPlan } from "../receipt.ts";
import type { Cell, CellSpec, Probe, SandboxRunner, StartOptions } from "../runner.ts";
import { probeBubblewrap } from "./bubblewrap.ts";
import { WasmCell } from "./cell.ts";
import { type ChildIdentity, childIdentity } from "./child-identity.ts";
import { type BubblewrapSupport, cellCommand, packagesInside } from "./command.ts";
import { cellLimits } from "./limits.ts";
import { findPackageFiles, type PackageFiles, pyodidePython } from "./package-files.ts";
import { planWasm } from "./plan.ts";
import { defaultRuntimeRoot, prepareRuntimeDirectory } from "./runtime-directory.ts";
import { discardWarmFiles, ensureWarmFiles } from "./warm-files.ts";

/** Options of the WASM runner. All have defaults. */
export interface WasmOptions {
  readonly logger?: Logger;
  /** directory of the runtime files; default: in the user's state directory */
  readonly runtimeDir?: string;
  /** `off` removes the second barrier, for a host that is itself in a sandbox or for measurements */
  readonly bubblewrap?: "auto" | "off";
  /** `off` starts every interpreter without the snapshot */
  readonly snapshot?: "auto" | "off";
}

interface Runtime {
  readonly directory: string;
  readonly usesSnapshot: boolean;
}

/** Pyodide in an empty V8 context, in a locked-down Node process: isolation that needs only Node. */
export function wasmRunner(options: WasmOptions = {}): SandboxRunner {
  return new WasmRunner(options);
}

class WasmRunner implements SandboxRunner {
  readonly name = "wasm";
  readonly isolation = "wasm";
  readonly takesWorkspace = false;
  readonly insideSandbox = "works";
  readonly #options: WasmOptions;
  readonly #logger: Logger;
  readonly #node = process.execPath;
  readonly #shell = process.platform === "linux" && existsSync("/bin/sh");
  #bubblewrap: Promise<BubblewrapSupport | undefined> | undefined;
  #runtime: Promise<Runtime> | undefined;

  constructor(options: WasmOptions) {
    this.#options = options;
    this.#logger = options.logger ?? silentLogger;
  }

  async probe(): Promise<Probe> {
    const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
    if (major < 20 || (major === 20 && minor < 19)) {
      return {
        available: false,
        reason: `Node ${process.versions.node} is too old`,
        hint: "install Node 20.19 or newer",
      };
    }
    const files = findPackageFiles();
    if ("missing" in files) return { available: false, reason: files.missing, hint: files.hint };
    return {
      available: true,
      version: `pyodide ${files.pyodideVersion}`,
      guarantees: [
        ...(["no-network", "private-filesystem", "private-processes", "empty-environment"] as const),
        ...(["snapshot-recovery", "no-native-code"] as const),
      ],
    };
  }

  async plan(policy: Policy): Promise<EnforcementPlan> {
    return this.#planWith(policy, await this.#findBubblewrap(), childIdentity([this.#node]));
  }

  async python(): Promise<CellPython> {
    const files = findPackageFiles();
    if ("missing" in files) throw new CodecellError("runner_unavailable", files.missing, { hint: files.hint });
    return await pyodidePython(files);
  }

  async start(spec: CellSpec, { signal }: StartOptions = {}): Promise<Cell> {
    const files = findPackageFiles();
    if ("missing" in files) throw new CodecellError("runner_unavailable", files.missing, { hint: files.hint });
    const { directory, usesSnapshot } = await this.#prepare(files);
    if (signal?.aborted) throw new CodecellError("aborted", "the start was aborted", { cause: signal.reason });

    const limits = cellLimits(spec.policy.proc);
    const packages = spec.packages?.directory;
    const identity = childIdentity([this.#node, directory, ...(packages === undefined ? [] : [packages])]);
    const bubblewrap = await this.#findBubblewrap();
    const dataBytes = this.#shell ? limits.dataBytes : undefined;
    const plan = this.#planWith(spec.policy, bubblewrap, identity);
    const runnerVersion = `pyodide ${files.pyodideVersion}`;
    const receipt = enforcedReceipt(plan, { runner: this.name, runnerVersion, policyHash: spec.policyHash });
    return WasmCell.start({
      id: spec.id,
      identity,
      command: cellCommand({
        node: this.#node,
        runtime: directory,
        entry: "main.js",
        entryArguments: [
          JSON.stringify({ ...limits, usesSnapshot, packages: packagesInside({ bubblewrap, packages }) }),
        ],
        bubblewrap,
        packages,
        dataBytes,
      }),
      setup: kernelSetup(spec.policy, packages !== undefined),
      receipt,
      onReport: ({ reason }) => this.#rebuild(directory, reason),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #planWith(policy: Policy, bubblewrap: BubblewrapSupport | undefined, { staysRoot }: ChildIdentity): EnforcementPlan {
    return planWasm(policy, { hasBubblewrap: bubblewrap !== undefined, hasDataLimit: this.#shell, staysRoot });
  }

  #findBubblewrap(): Promise<BubblewrapSupport | undefined> {
    if (this.#options.bubblewrap === "off") return Promise.resolve(undefined);
    this.#bubblewrap ??= probeBubblewrap(this.#node, childIdentity([this.#node]), process.env.PATH ?? "/usr/bin:/bin");
    return this.#bubblewrap;
  }

  #prepare(files: PackageFiles): Promise<Runtime> {
    const prepare = async (): Promise<Runtime> => {
      const root = this.#options.runtimeDir ?? defaultRuntimeRoot();
      const directory = await prepareRuntimeDirectory(root, files);
      const usesSnapshot =
        this.#options.snapshot !== "off" && (await ensureWarmFiles(directory, this.#node, this.#logger));
      return { directory, usesSnapshot };
    };
    this.#runtime ??= prepare().catch((error: unknown) => {
      this.#runtime = undefined;
      throw error;
    });
    return this.#runtime;
  }

  /** The files looked complete but did not load, so the next start creates new ones. */
  #rebuild(directory: string, reason: string): void {
    this.#logger.warn("the WASM snapshot did not load and will be created again", { reason });
    this.#runtime = undefined;
    void discardWarmFiles(directory).catch(() => {});
  }
}

function kernelSetup({ env, kernel }: Policy, hasPackages: boolean): KernelSetup {
  const own = { HOME: "/workspace", LANG: "C.UTF-8", TZ: "UTC", TMPDIR: "/tmp" };
  const path = hasPackages ? [packagesTarget] : [];
  return { env: { ...own, ...env }, path, preload: kernel.preload, background: false, recovery: false };
}
