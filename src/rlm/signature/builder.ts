import { CodecellError } from "../../lib/errors.ts";
import type { FieldType } from "./field-type.ts";
import { nameProblem } from "./names.ts";
import { parseType } from "./parse-type.ts";
import type { Field, Signature } from "./signature.ts";

/** Builds a signature field by field. Each call returns a new builder, so a common start can be shared. */
export class SignatureBuilder {
  readonly #signature: Signature;

  constructor(start: Signature = { inputs: [], outputs: [] }) {
    this.#signature = start;
  }

  /** `type` is Python text such as `list[str]`, or a type; the default is str. */
  input(name: string, type: string | FieldType = "str", description?: string): SignatureBuilder {
    return this.#with("input", name, type, description);
  }

  output(name: string, type: string | FieldType = "str", description?: string): SignatureBuilder {
    return this.#with("output", name, type, description);
  }

  instructions(text: string): SignatureBuilder {
    return new SignatureBuilder({ ...this.#signature, instructions: text });
  }

  build(): Signature {
    if (this.#signature.outputs.length > 0) return this.#signature;
    throw new CodecellError("usage", "the signature has no outputs", {
      hint: "call .output(name, type) before .build()",
    });
  }

  #with(side: "input" | "output", name: string, type: string | FieldType, description?: string): SignatureBuilder {
    const { inputs, outputs } = this.#signature;
    const wrong = nameProblem(name, side);
    if (wrong !== undefined) throw new CodecellError("usage", wrong.problem, { hint: wrong.hint });
    if ([...inputs, ...outputs].some((field) => field.name === name)) {
      throw new CodecellError("usage", `the name ${name} is used twice`, { hint: "give each field its own name" });
    }
    const field: Field = {
      name,
      type: typeof type === "string" ? parseType(type) : type,
      ...(description !== undefined && { description }),
    };
    const fields = side === "input" ? { inputs: [...inputs, field] } : { outputs: [...outputs, field] };
    return new SignatureBuilder({ ...this.#signature, ...fields });
  }
}

/** `signature().input("question").output("answer", "str", "one sentence").build()` */
export function signature(): SignatureBuilder {
  return new SignatureBuilder();
}
