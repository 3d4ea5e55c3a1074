import type { Codecell } from "../sessions/codecell.ts";
import { LazySandbox } from "./lazy-sandbox.ts";
import { hostEffects } from "./tools/tool-hints.ts";

/** What `sandboxFor` is told; everything has a default. */
export interface SandboxForOptions {
  /** where relative paths of `rlm_load` start; default: the current directory */
  readonly projectDir?: string;
}

/** What tools work with, over your own `Codecell`. Disposing it stops the runs that tools started; sessions stay open. */
export function sandboxFor(codecell: Codecell, { projectDir = process.cwd() }: SandboxForOptions = {}): LazySandbox {
  const effects = hostEffects(codecell.policy);
  return new LazySandbox({ open: async () => codecell, projectDir, effects, ownsSessions: false });
}
