import type { Terminal } from "../shell/terminal.ts";

/** Whether a model for sub-agents is configured: by `--model`, `CODECELL_MODEL` or an API key. */
export function isModelConfigured(model: string | undefined, env: Terminal["env"]): boolean {
  return [model, env.CODECELL_MODEL, env.ANTHROPIC_API_KEY].some((text) => text !== undefined && text.trim() !== "");
}
