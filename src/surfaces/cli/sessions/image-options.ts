import { CodecellError } from "../../../lib/errors.ts";
import type { EngineKind } from "../../../sessions/container-images.ts";

/** Options of every `image` command. */
export const imageOptions = {
  engine: { type: "string", value: "docker|podman", help: "Engine to use; default: the first that answers." },
  json: { type: "boolean", help: "Print one JSON object." },
} as const;

export function engineKind(written: string | undefined): EngineKind | undefined {
  if (written === undefined) return undefined;
  return oneOf("--engine", written, ["docker", "podman"] as const);
}

/** One of the words that an option takes. */
export function oneOf<Word extends string>(option: string, written: string, words: readonly Word[]): Word {
  const word = words.find((one) => one === written);
  if (word !== undefined) return word;
  throw new CodecellError("usage", `${option} ${JSON.stringify(written)} is not known`, {
    hint: `one of ${words.join(", ")}`,
  });
}
