import { defaultPolicy } from "../../policy/default-policy.ts";
import { noPackages } from "../../policy/package-rules.ts";
import type { Policy } from "../../policy/schema.ts";
import type { CellPackages } from "../../runners/cell-packages.ts";
import type { SandboxRunner } from "../../runners/runner.ts";
import type { CodeSession } from "../code-session.ts";

/** A codecell of its own for one build. */
export interface BuildCell extends AsyncDisposable {
  session(): Promise<CodeSession>;
}

/** What the cell of a build has. */
export interface BuildCellSpec {
  readonly policy: Policy;
  readonly runner: SandboxRunner;
  /** the build requirements, for `/deps` */
  readonly packages: CellPackages | undefined;
}

/** Opens one. `Codecell` hands this in, because it is above what prepares its packages. */
export type OpenBuildCell = (spec: BuildCellSpec) => Promise<BuildCell>;

/**
 * The strictest policy: no network, no file of the host, no variables and no functions of the host, whatever the cells of the
 * policy have. Of the policy it keeps the isolation, the Python, the limits and the audit.
 */
export function buildPolicy(policy: Policy, packages: CellPackages | undefined): Policy {
  const install = packages?.packages.map(({ name, version }) => `${name}==${version}`) ?? [];
  return {
    ...defaultPolicy(),
    ...{ isolation: policy.isolation, audit: policy.audit },
    proc: { ...policy.proc, background: false },
    kernel: { ...policy.kernel, preload: [], packages: { ...noPackages(), install } },
  };
}

/** A runner that somebody else disposes. */
export function borrowedRunner(runner: SandboxRunner): SandboxRunner {
  const { name, isolation, takesWorkspace, insideSandbox } = runner;
  return {
    ...{ name, isolation, takesWorkspace, insideSandbox },
    probe: (options) => runner.probe(options),
    plan: (policy) => runner.plan(policy),
    ...(runner.python ? { python: runner.python.bind(runner) } : {}),
    start: (spec, options) => runner.start(spec, options),
    async [Symbol.asyncDispose]() {},
  };
}
