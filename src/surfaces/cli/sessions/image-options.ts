import { CodecellError } from "../../../lib/errors.ts";
import type { EngineKind } from "../../../sessions/container-images.ts";

/** Options of every `image` command. */
export const imageOptions = {
  engine: { type: "string", value: "docker|podman", help: "Container engine. Default: the first one that responds." },
  json: { type: "boolean", help: "Print one JSON object." },
} as const;

export function engineKind(written: string | undefined): EngineKind | undefined {
  if (written === undefined) return undefined;
  return oneOf("--engine", written, ["docker", "podman"] as const);
}

/** Parses the value of an option that takes one of a few words. */
export function oneOf<Word extends string>(option: string, written: string, words: readonly Word[]): Word {
  const word = words.find((one) => one === written);
  if (word !== undefined) return word;
  throw new CodecellError("usage", `${option}: unknown value ${JSON.stringify(written)}`, {
    hint: `use one of: ${words.join(", ")}`,
  });
}
