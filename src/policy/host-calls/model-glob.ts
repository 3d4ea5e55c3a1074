import { z } from "zod";
import { once } from "../../lib/once.ts";
import { starCovers, starMatches } from "./star-glob.ts";

const expected = "expected a model such as anthropic/claude-sonnet-4-5, anthropic/* or gpt-5*";

/** A model, or a glob of models, as `llm.models` names it. */
export const modelGlob = once(() =>
  z
    .string(expected)
    .max(200, "at most 200 characters")
    .regex(/^[A-Za-z0-9*][A-Za-z0-9._:@+*/-]*$/, expected),
);

/**
 * The name of a model with its provider. Names without one go to Anthropic if they start with `claude`, and to the
 * OpenAI-compatible server otherwise. Globs and models are qualified by the same rule, so that no spelling of a model gets
 * around the list.
 */
export function qualifiedModel(name: string): string {
  if (/^(?:anthropic|openai)\//.test(name) || name.startsWith("*")) return name;
  return `${name.startsWith("claude") ? "anthropic" : "openai"}/${name}`;
}

/** Whether `llm.models` allows a model. An empty list allows none. */
export function allowsModel(globs: readonly string[], model: string): boolean {
  // The attack: a program that asks for the model `*`, which would be taken for a glob.
  if (model.includes("*")) return false;
  return globs.some((glob) => starMatches(qualifiedModel(glob), qualifiedModel(model)));
}

/** Whether `wide` allows every model that `narrow` allows. */
export function modelGlobCovers(wide: string, narrow: string): boolean {
  return starCovers(qualifiedModel(wide), qualifiedModel(narrow));
}
