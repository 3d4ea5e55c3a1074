import { z } from "zod";
import { type CodeInput, codeInputSchema } from "../../service/tools/code-tool.ts";

/** A JSON Schema as plain data. */
export type JsonSchema = Readonly<Record<string, unknown>>;

const { code, language, timeout } = codeInputSchema.shape;
const present = { language: language.unwrap().unwrap(), timeout: timeout.unwrap().unwrap() };

/** The input of the tool as a model should send it. */
export const codeInputJson: JsonSchema = jsonSchemaOf(
  z.strictObject({
    code,
    language: present.language.optional().describe(language.description ?? ""),
    timeout: present.timeout.optional().describe(timeout.description ?? ""),
  }),
);

/** The same for providers whose strict mode requires every property: null stands for an absent one. */
export const strictCodeInputJson: JsonSchema = jsonSchemaOf(
  z.strictObject({
    code,
    language: present.language.nullable().describe(language.description ?? ""),
    // no bounds: strict modes refuse schemas with keywords that they do not know
    timeout: z
      .number()
      .nullable()
      .describe(timeout.description ?? ""),
  }),
);

/** The input in the Standard Schema form, which needs no package. */
export interface StandardCodeInput {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: "codecell";
    readonly validate: (
      value: unknown,
    ) => { readonly value: CodeInput } | { readonly issues: readonly { readonly message: string }[] };
    readonly jsonSchema: {
      readonly input: () => Record<string, unknown>;
      readonly output: () => Record<string, unknown>;
    };
    readonly types?: { readonly input: unknown; readonly output: CodeInput } | undefined;
  };
}

export const standardCodeInput: StandardCodeInput = {
  "~standard": {
    version: 1,
    vendor: "codecell",
    validate: (value) => {
      const { success, data, error } = codeInputSchema.safeParse(value);
      return success ? { value: data } : { issues: [{ message: z.prettifyError(error) }] };
    },
    jsonSchema: { input: () => ({ ...codeInputJson }), output: () => ({ ...codeInputJson }) },
  },
};

function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { target: "draft-7", io: "input" });
  return rest;
}
