import { CodecellError } from "../../lib/errors.ts";
import { allowsModel } from "../../policy/host-calls/model-glob.ts";
import type { LmRequest } from "../client.ts";
import { promptCharacters } from "../usage.ts";

export interface RequestLimits {
  /** names or globs of models that may be called; undefined: any */
  readonly models?: readonly string[];
  /** characters of the system prompt and all messages together */
  readonly maxPromptChars: number;
}

/** Refuses a request before anything is held or sent. Its parts may come from a cell. */
export function checkRequest(request: LmRequest, { models, maxPromptChars }: RequestLimits): void {
  const { model, maxTokens, messages, temperature } = request;
  if (models && !allowsModel(models, model))
    throw new CodecellError("model_unavailable", `the model ${quoted(model)} is not allowed`, {
      hint: `use one of these: ${models?.join(", ") || "none is allowed"}`,
      details: { reason: "not_allowed", model },
    });
  if (!Number.isSafeInteger(maxTokens) || maxTokens < 1)
    throw new CodecellError("usage", `maxTokens is ${String(maxTokens)}: it must be a whole number from 1`);
  if (temperature !== undefined && !(temperature >= 0 && temperature <= 2))
    throw new CodecellError("usage", `the temperature is ${String(temperature)}: it must be from 0 to 2`);
  if (messages.at(-1)?.role !== "user") throw new CodecellError("usage", "the last message must be the user's");
  const characters = promptCharacters(request);
  if (characters > maxPromptChars)
    throw new CodecellError(
      "too_large",
      `the prompt has ${characters.toLocaleString("en-US")} characters; the limit is ${maxPromptChars.toLocaleString("en-US")}`,
      {
        hint: `split it into ${Math.ceil(characters / maxPromptChars)} or more parts and combine the answers`,
        details: { characters, limit: maxPromptChars },
      },
    );
}

function quoted(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}
