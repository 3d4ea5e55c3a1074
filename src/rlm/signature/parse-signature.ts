import { CodecellError } from "../../lib/errors.ts";
import { nameProblem } from "./names.ts";
import { readType, TokenReader } from "./parse-type.ts";
import type { Field, Signature } from "./signature.ts";

/** Far more than any real signature. The attack: code in a cell sends a huge one to `rlm_query`. */
const maxChars = 20_000;
const maxFields = 64;
const form = 'write it as "question, docs: list[str] -> answer: str"';

/**
 * Parses a signature in DSPy's form: `question, docs: list[str] -> answer: str, score: float`. A field without a type is
 * a str. Text in quotes after a field describes it: `answer: str "one sentence"`.
 */
export function parseSignature(text: string, options: { readonly instructions?: string } = {}): Signature {
  if (text.length > maxChars) {
    throw new CodecellError("usage", `the signature has ${text.length} characters; the limit is ${maxChars}`, {
      hint: "move long descriptions into the instructions",
    });
  }
  const reader = new TokenReader(text);
  const seen = new Set<string>();
  const inputs = readFields(reader, "input", seen);
  if (!reader.skip("->")) {
    const next = reader.peek();
    const problem = next.kind === "end" ? "there is no ->" : `expected a comma or ->, found ${next.text}`;
    throw reader.fail(next, problem, `put -> between the inputs and the outputs: ${form}`);
  }
  const afterArrow = reader.peek();
  const outputs = readFields(reader, "output", seen);
  const next = reader.peek();
  if (next.text === "->") throw reader.fail(next, "there is a second ->", `use one ->: ${form}`);
  if (next.kind !== "end") {
    throw reader.fail(next, `expected a comma, found ${next.text}`, "separate fields with commas");
  }
  if (outputs.length === 0)
    throw reader.fail(afterArrow, "there are no outputs", `name what to produce after ->: ${form}`);
  const { instructions } = options;
  return { inputs, outputs, ...(instructions !== undefined && { instructions }) };
}

function readFields(reader: TokenReader, side: "input" | "output", seen: Set<string>): Field[] {
  const fields: Field[] = [];
  while (reader.peek().kind !== "end" && reader.peek().text !== "->") {
    if (fields.length === maxFields) {
      throw reader.fail(reader.peek(), `there are more than ${maxFields} ${side}s`, "put related values into one dict");
    }
    fields.push(readField(reader, side, seen));
    if (!reader.skip(",")) break;
  }
  return fields;
}

function readField(reader: TokenReader, side: "input" | "output", seen: Set<string>): Field {
  const token = reader.take();
  const name = token.text;
  if (token.kind !== "name") {
    throw reader.fail(token, `expected the name of an ${side}, found ${name}`, form);
  }
  const wrong = nameProblem(name, side);
  if (wrong !== undefined) throw reader.fail(token, wrong.problem, wrong.hint);
  if (seen.has(name)) throw reader.fail(token, `the name ${name} is used twice`, "give each field its own name");
  seen.add(name);
  const type = reader.skip(":") ? readType(reader) : ({ kind: "str" } as const);
  const next = reader.peek();
  if (next.kind !== "string") return { name, type };
  reader.take();
  return { name, type, description: next.value };
}
