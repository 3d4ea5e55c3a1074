import type { Codecell } from "../sessions/codecell.ts";
import { LazySandbox } from "./lazy-sandbox.ts";
import { policyFacts } from "./tools/policy-facts.ts";
import { hostEffects } from "./tools/tool-hints.ts";

/** Options of `sandboxFor`. */
export interface SandboxForOptions {
  /** base directory for relative paths of `rlm_load`; default: the current directory */
  readonly projectDir?: string;
}

/** A sandbox for tools that uses your own `Codecell`. Disposing it stops the runs that tools started; sessions stay open. */
export function sandboxFor(codecell: Codecell, { projectDir = process.cwd() }: SandboxForOptions = {}): LazySandbox {
  const effects = hostEffects(codecell.policy);
  const facts = policyFacts(codecell.policy);
  return new LazySandbox({ open: async () => codecell, projectDir, effects, facts, ownsSessions: false });
}
