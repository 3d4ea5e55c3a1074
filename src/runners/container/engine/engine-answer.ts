import type { z } from "zod";
import { CodecellError } from "../../../lib/errors.ts";
import type { EngineClient } from "./engine-client.ts";

/** Validates an engine's answer, because another program may listen at this address. */
export function parseAnswer<Shape extends z.ZodType>(
  { address }: EngineClient,
  shape: Shape,
  answer: unknown,
  expected: string,
): z.output<Shape> {
  const found = shape.safeParse(answer);
  if (found.success) return found.data;
  throw new CodecellError("runner_unavailable", `${address.name} sent an unexpected answer: expected ${expected}`, {
    hint: `check that ${address.shown} is a container engine`,
    cause: found.error,
  });
}
