import type { z } from "zod";
import { ArgumentGuard } from "./argument-guard.ts";
import { checkerOf } from "./function-spec.ts";
import type { JsonSchema } from "./host-function.ts";

const maxIssues = 8;

/** A value that fits its schema, with the schema's defaults, or what is wrong with it. */
export type Checked =
  | { readonly isRight: true; readonly value: unknown }
  | { readonly isRight: false; readonly why: string };

/** Checks the arguments or the result of one host function. */
export class ValueCheck {
  readonly #guard: ArgumentGuard;
  readonly #schema: z.ZodType;

  constructor(name: string, schema: JsonSchema | z.ZodType) {
    this.#schema = checkerOf(name, schema);
    this.#guard = new ArgumentGuard(schema);
  }

  check(value: unknown): Checked {
    const why = this.#guard.problem(value);
    if (why !== undefined) return { isRight: false, why };
    const { success, data, error } = this.#schema.safeParse(value);
    return success ? { isRight: true, value: data } : { isRight: false, why: describeIssues(error) };
  }
}

function describeIssues({ issues }: z.ZodError): string {
  const lines = issues
    .slice(0, maxIssues)
    .map(({ path, message }) => `${path.length > 0 ? `${path.join(".")}: ` : ""}${message}`);
  return [...lines, ...(issues.length > maxIssues ? [`and ${issues.length - maxIssues} more`] : [])].join("; ");
}
