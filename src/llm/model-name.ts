/** Which wire format a model is reached by. */
export type Provider = "anthropic" | "openai";

const prefixed = /^(anthropic|openai)\/(.+)$/s;

/** The provider: named before the slash, or guessed. Everything that is not Claude speaks the OpenAI format. */
export function providerOf(model: string): Provider {
  const named = prefixed.exec(model)?.[1];
  if (named !== undefined) return named as Provider;
  return model.startsWith("claude") ? "anthropic" : "openai";
}

/** The name that the provider knows the model by. Other slashes are part of it: `openai/meta-llama/llama-4`. */
export function bareName(model: string): string {
  return prefixed.exec(model)?.[2] ?? model;
}
