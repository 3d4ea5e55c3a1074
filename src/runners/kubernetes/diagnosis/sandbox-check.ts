import { servesSandboxes } from "../claims/sandbox-api.ts";
import type { ClaimUse } from "../settings.ts";
import { claimRules } from "../verbs.ts";
import type { ClusterCheck, ClusterQuestions } from "./cluster-check.ts";
import { missingRights } from "./rights-check.ts";

const name = "agent-sandbox";

/** Whether agent-sandbox keeps the warm pods of policies, and if not, why codecell does. */
export async function agentSandboxCheck(api: ClusterQuestions, use: ClaimUse): Promise<ClusterCheck> {
  const isInstalled = await servesSandboxes(api);
  const facts = { installed: isInstalled, use };
  /** without it cells still start, unless the operator requires it */
  const lacks = (finding: string, fix: string): ClusterCheck =>
    use === "on"
      ? { name, state: "missing", finding, fix: `${fix}, or set CODECELL_KUBERNETES_CLAIMS to auto`, facts }
      : { name, state: "ok", finding: `${finding}; codecell keeps warm pods itself`, facts };
  if (!isInstalled) return lacks("not installed", "install it with its extensions");
  if (use === "off") {
    return { name, state: "ok", finding: "installed; not used, because CODECELL_KUBERNETES_CLAIMS is off", facts };
  }
  const { missing, fix } = await missingRights(api, claimRules);
  const more = { ...facts, missing };
  if (missing.length > 0) return { ...lacks(`installed, but missing: ${missing.join(", ")}`, fix), facts: more };
  const finding = "installed; keeps warm pods where nodes give pods user namespaces, which each gateway tries";
  return { name, state: "ok", finding, facts: more };
}
