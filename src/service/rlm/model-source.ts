import { loadOnce } from "../../lib/load-once.ts";
import type { Policy } from "../../policy/schema.ts";
import type { ModelAccess, OpenModelsOptions } from "../../rlm/access/model-access.ts";

/** The operator's models, for code and sub-agents. `modelSource` makes one. */
export interface ModelSource {
  /** @internal Opens them for one client, under the policy that applies now. Throws `model_unavailable` with the remedy. */
  open(policy: () => Policy, options?: OpenModelsOptions): Promise<ModelAccess>;
}

/** What an operator chooses on the command line. Keys come from the environment only. */
export interface ModelChoice {
  readonly model?: string | undefined;
  readonly subModel?: string | undefined;
  /** a file with prices of models that the built-in table does not have */
  readonly prices?: string | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

const loading = loadOnce(() => import("../../rlm/access/environment-models.ts"));

/** The models that the environment names, loaded with the first call. */
export function modelSource(env: Readonly<Record<string, string | undefined>>, choice: ModelChoice = {}): ModelSource {
  const chosen = withChoice(env, choice);
  return { open: async (policy, options) => (await loading()).openModels(chosen, policy, options) };
}

/** Whether a model can probably be called, so that tools for it are worth offering. Cheap: nothing is loaded. */
export function hasModel(env: Environment, choice: ModelChoice, policy: Policy): boolean {
  const { CODECELL_MODEL, ANTHROPIC_API_KEY, OPENAI_API_KEY, OPENAI_BASE_URL } = withChoice(env, choice);
  const hasKey = [ANTHROPIC_API_KEY, OPENAI_API_KEY, OPENAI_BASE_URL].some((value) => value);
  return policy.llm.models.length > 0 && !!CODECELL_MODEL && hasKey;
}

function withChoice(env: Environment, { model, subModel, prices }: ModelChoice): Environment {
  return {
    ...env,
    ...(model === undefined ? {} : { CODECELL_MODEL: model }),
    ...(subModel === undefined ? {} : { CODECELL_SUB_MODEL: subModel }),
    ...(prices === undefined ? {} : { CODECELL_PRICES: prices }),
  };
}
