import { packageNeed } from "../../../service/replies/package-need.ts";
import type { RunResult } from "../../../sessions/runs/run.ts";

/** How to get what a failed run wanted of a package index. `mayInstall`: the policy has `kernel.packages.inside`. */
export function packageHint(result: RunResult, mayInstall = false): string | undefined {
  const need = packageNeed(result);
  if (need === undefined) return undefined;
  if (mayInstall)
    return need.kind === "pip"
      ? "install packages from Python, with %pip install NAME"
      : `no module ${need.module} in this cell: install it with %pip install ${need.packageName}`;
  if (need.kind === "pip") {
    return (
      "packages cannot be installed from inside a cell: start it with --with NAME or --requirements FILE, " +
      "or name them in the policy (kernel.packages)"
    );
  }
  const { module, packageName } = need;
  return `no module ${module} in this cell: add --with ${packageName}, or name it in the policy (kernel.packages)`;
}
