import type { Terminal } from "../shell/terminal.ts";

/** Whether somebody named a model for sub-agents: `--model`, `CODECELL_MODEL`, or a key that a model answers to. */
export function isModelConfigured(model: string | undefined, env: Terminal["env"]): boolean {
  return [model, env.CODECELL_MODEL, env.ANTHROPIC_API_KEY].some((text) => text !== undefined && text.trim() !== "");
}
