import { CodecellError } from "../../lib/errors.ts";
import { nearest } from "../../policy/file/suggest.ts";
import { signature } from "./builder.ts";
import { parseSignature } from "./parse-signature.ts";
import type { Signature } from "./signature.ts";

/** Signatures for common tasks over text that is too long for one prompt. */
export const readySignatures = {
  summarize: signature()
    .input("text", "str", "what to summarize")
    .input("focus", "Optional[str]", "what the reader wants to know")
    .output("summary", "str", "a few sentences")
    .output("key_points", "list[str]", "the most important facts, one per item")
    .instructions("Summarize the text. Cover all of it, and add nothing that it does not say.")
    .build(),
  extract: signature()
    .input("text", "str", "where to look")
    .input("fields", "list[str]", "the names of the fields of a record")
    .output(
      "records",
      "list[dict[str, Any]]",
      "one dict per record, with a key per field; None where the text has no value",
    )
    .instructions("Find every record in the text and extract its fields. Copy values exactly.")
    .build(),
  classify: signature()
    .input("text", "str", "what to classify")
    .input("labels", "list[str]", "the labels to choose from")
    .output("label", "str", "one of the labels, spelled as given")
    .output("reason", "str", "one sentence that quotes the text")
    .instructions("Choose the label that fits the text best.")
    .build(),
  answer: signature()
    .input("question", "str")
    .input("documents", "list[str]", "where the answer is found")
    .output("answer", "str", "the answer, or that the documents do not say")
    .output("evidence", "list[str]", "exact quotes that support the answer")
    .instructions("Answer the question from the documents alone.")
    .build(),
} as const satisfies Readonly<Record<string, Signature>>;

export type ReadySignature = keyof typeof readySignatures;

/** A ready signature by its name, or one that is written out. */
export function signatureOf(text: string, options: { readonly instructions?: string } = {}): Signature {
  const name = text.trim();
  if (!/^[A-Za-z_]+$/.test(name)) return parseSignature(text, options);
  if (Object.hasOwn(readySignatures, name)) return { ...readySignatures[name as ReadySignature], ...options };
  const names = Object.keys(readySignatures);
  const near = nearest(name, names);
  throw new CodecellError("usage", `there is no ready signature named ${name}`, {
    hint: `${near === undefined ? `use one of ${names.join(", ")}` : `did you mean ${near}?`} Or write one: "question -> answer"`,
  });
}
