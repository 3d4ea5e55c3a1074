import { resolve } from "node:path";
import type { ModelChoice } from "../../../service/rlm/model-source.ts";

/** Which models the host calls for code and sub-agents. Keys come from the environment only. */
export const modelOptions = {
  model: {
    type: "string",
    value: "NAME",
    help: "Model for sub-agents, such as anthropic/claude-sonnet-5-5. Default: $CODECELL_MODEL.",
  },
  "sub-model": {
    type: "string",
    value: "NAME",
    help: "Model for llm_query. Default: $CODECELL_SUB_MODEL, or --model.",
  },
  prices: {
    type: "string",
    value: "FILE",
    help: "JSON file with prices of models that codecell does not know. Default: $CODECELL_PRICES.",
  },
} as const;

interface ModelFlags {
  readonly model?: string | undefined;
  readonly "sub-model"?: string | undefined;
  readonly prices?: string | undefined;
}

/** What the operator chose with these options. */
export function modelChoice(flags: ModelFlags, { cwd }: { readonly cwd: string }): ModelChoice {
  const prices = flags.prices === undefined ? {} : { prices: resolve(cwd, flags.prices) };
  return { model: flags.model, subModel: flags["sub-model"], ...prices };
}
