import type { z } from "zod";
import { CodecellError } from "../../../lib/errors.ts";
import type { EngineClient } from "./engine-client.ts";

/** What an engine answered, if it has the shape that was asked for: something else may listen there, or be broken. */
export function understood<Shape extends z.ZodType>(
  { address }: EngineClient,
  shape: Shape,
  answer: unknown,
  asked: string,
): z.output<Shape> {
  const found = shape.safeParse(answer);
  if (found.success) return found.data;
  throw new CodecellError("runner_unavailable", `${address.name} answered with something else than ${asked}`, {
    hint: `check that ${address.shown} is a container engine`,
    cause: found.error,
  });
}
