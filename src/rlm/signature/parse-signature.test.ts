import { describe, expect, test } from "vitest";
import { CodecellError } from "../../lib/errors.ts";
import { signature } from "./builder.ts";
import { typeText } from "./field-type.ts";
import { parseSignature } from "./parse-signature.ts";
import { parseType } from "./parse-type.ts";
import { readySignatures, signatureOf } from "./ready-signatures.ts";
import { signatureText } from "./signature.ts";

function failure(text: string): { message: string; hint: string; line: string; caret: string } {
  try {
    parseSignature(text);
  } catch (error) {
    if (!(error instanceof CodecellError)) throw error;
    const [message = "", line = "", caret = ""] = error.message.split("\n");
    expect(error.code).toBe("usage");
    return { message, hint: error.hint ?? "", line, caret };
  }
  throw new Error(`accepted: ${text}`);
}

/** The text that the caret points at. */
function pointedAt(text: string): string {
  const { line, caret } = failure(text);
  return line.slice(caret.indexOf("^"));
}

describe("a signature", () => {
  test("has inputs and outputs in order, and a field without a type is a str", () => {
    expect(parseSignature("question, docs: list[str] -> answer: str, score: float")).toEqual({
      inputs: [
        { name: "question", type: { kind: "str" } },
        { name: "docs", type: { kind: "list", of: { kind: "str" } } },
      ],
      outputs: [
        { name: "answer", type: { kind: "str" } },
        { name: "score", type: { kind: "float" } },
      ],
    });
  });

  test("may have no inputs, line breaks and a comma at the end", () => {
    const { inputs, outputs } = parseSignature("\n ->\n  answer,\n  why,\n");
    expect(inputs).toEqual([]);
    expect(outputs.map(({ name }) => name)).toEqual(["answer", "why"]);
  });

  test("takes a description in quotes after a field, with or without a type", () => {
    const { inputs, outputs } = parseSignature(`doc "has -> and, \\"quotes\\"" -> n: int 'how many'`);
    expect(inputs).toEqual([{ name: "doc", type: { kind: "str" }, description: 'has -> and, "quotes"' }]);
    expect(outputs).toEqual([{ name: "n", type: { kind: "int" }, description: "how many" }]);
  });

  test("keeps the instructions that it is given", () => {
    expect(parseSignature("a -> b", { instructions: "Be brief." }).instructions).toBe("Be brief.");
  });

  test("reads back from its own text", () => {
    const text =
      'a: Optional[int], b: dict[str, list[Any]] "x\\ny" -> c: Literal["yes", "no", 3, True, None], d: int | str | None, e: bool';
    const parsed = parseSignature(text);
    expect(parseSignature(signatureText(parsed))).toEqual(parsed);
    expect(signatureText(parsed)).toBe(text);
  });
});

describe("types", () => {
  test.each([
    ["list", "list[Any]"],
    ["List[int]", "list[int]"],
    ["typing.Dict[str, float]", "dict[str, float]"],
    ["dict", "dict[str, Any]"],
    ["str | None", "Optional[str]"],
    ["None | str", "Optional[str]"],
    ["Optional[Optional[str]]", "Optional[str]"],
    ["Union[int, str]", "int | str"],
    ["Union[int, int]", "int"],
    ["json", "Any"],
    ["Literal['a', \"b\",]", 'Literal["a", "b"]'],
    ["list[dict[str, Optional[Literal[1, 2]]]]", "list[dict[str, Optional[Literal[1, 2]]]]"],
  ])("%s is %s", (written, canonical) => {
    expect(typeText(parseType(written))).toBe(canonical);
  });
});

describe("an invalid signature is an error that points at the place and says what to do", () => {
  test.each([
    ["question answer", "answer", "expected a comma or ->, found answer", "put -> between"],
    ["question", "", "there is no ->", "question, docs: list[str] -> answer: str"],
    ["a -> b -> c", "-> c", "there is a second ->", "use one ->"],
    ["a ->", "", "there are no outputs", "after ->"],
    ["a -> b c", "c", "expected a comma, found c", "commas"],
    ["a, a -> b", "a -> b", "the name a is used twice", "its own name"],
    ["a -> a", "a", "the name a is used twice", "its own name"],
    ["a: lst[str] -> b", "lst[str] -> b", "unknown type lst", "did you mean list?"],
    ["a: tuple[int] -> b", "tuple[int] -> b", "tuple is not supported", "use list[T]"],
    ["a: string -> b", "string -> b", "string is not supported", "use str"],
    ["a: dict[int, str] -> b", "[int, str] -> b", "keys of a dict must be str", "dict[str, T]"],
    ["a: list[str -> b", "-> b", "list[ is never closed", "missing ]"],
    ["a: list[int, str] -> b", "str] -> b", "list takes one type", "remove"],
    ["a: Optional -> b", "-> b", "Optional needs a type in brackets", "Optional[str]"],
    ["a -> b: Literal", "", "Literal needs its values", 'Literal["yes", "no"]'],
    ["a -> b: Literal[yes]", "yes]", "text in quotes", 'Literal["yes", "no"]'],
    ["a: -> b", "-> b", "a type is missing: found ->", "types are str"],
    ["a -> b:", "", "a type is missing: the signature ends here", "types are str"],
    ['a "open -> b', '"open -> b', "this quote is never closed", "close"],
    ["a? -> b", "? -> b", 'unexpected character "?"', "put any other text in quotes"],
    ["3 -> b", "3 -> b", "expected the name of an input, found 3", "question"],
    ["class -> b", "class -> b", "class is a keyword of Python", "class_value"],
    ["_a -> b", "_a -> b", "starts with an underscore", "a letter"],
  ])("%s", (text, place, problem, hint) => {
    const error = failure(text);
    expect(error.message).toContain("the signature is not valid");
    expect(error.message).toContain(problem);
    expect(error.hint).toContain(hint);
    expect(pointedAt(text)).toBe(place);
  });

  test("the caret is right on a line of its own and in a long line", () => {
    const { line, caret } = failure("a,\n  b: lst -> c");
    expect(line).toBe("    b: lst -> c");
    expect(caret.indexOf("^")).toBe(line.indexOf("lst"));
    const long = failure(`name, ${Array.from({ length: 40 }, (_, n) => `field${n}`).join(", ")}, x: lst -> c`);
    expect(long.line.length).toBeLessThan(130);
    expect(long.line.slice(long.caret.indexOf("^"))).toBe("lst -> c");
  });

  test("nesting, fields and length are limited, because code in a cell can send a signature", () => {
    expect(failure(`a: ${"list[".repeat(100_000 / 20)} -> b`).message).toContain("limit is 20000");
    expect(failure(`a: ${"list[".repeat(2000)} -> b`).message).toContain("nested deeper than 16");
    expect(failure(`${Array.from({ length: 65 }, (_, n) => `a${n}`).join(",")} -> b`).message).toContain(
      "more than 64",
    );
  });
});

describe("DSPy 1.7: names are reserved", () => {
  test.each([
    "llm_query",
    "llm_query_batched",
    "SUBMIT",
    "print",
    "rlm_query",
    "rlm_query_batched",
    "SHOW_VARS",
    "budget",
  ])("%s cannot be an input", (name) => {
    expect(failure(`${name} -> answer`).message).toContain(`${name} is a function of the cell`);
    expect(() => signature().input(name)).toThrow(`${name} is a function of the cell`);
  });

  test.each(["trajectory", "final_reasoning"])("%s cannot be an output", (name) => {
    expect(failure(`a -> ${name}`).message).toContain("reserved for the result");
    expect(parseSignature(`${name} -> a`).inputs).toHaveLength(1);
  });
});

describe("the builder", () => {
  test("makes the same signature as the string", () => {
    const start = signature().input("question").input("docs", "list[str]", "where to look");
    const built = start.output("answer").instructions("Be brief.").build();
    expect(built).toEqual(
      parseSignature('question, docs: list[str] "where to look" -> answer', { instructions: "Be brief." }),
    );
    expect(start.output("other").build().outputs).toHaveLength(1);
  });

  test("rejects a bad type, a repeated name and a signature without outputs", () => {
    expect(() => signature().input("a", "lst")).toThrow("unknown type lst");
    expect(() => signature().input("a").output("a")).toThrow("used twice");
    expect(() => signature().input("a b")).toThrow('"a b" is not a name');
    expect(() => signature().input("a").build()).toThrow("no outputs");
  });
});

describe("ready signatures", () => {
  test.each(Object.entries(readySignatures))("%s reads back from its own text", (name, ready) => {
    const { instructions, ...fields } = ready;
    expect(parseSignature(signatureText(ready))).toEqual(fields);
    expect(instructions).not.toBe("");
    expect(signatureOf(name)).toEqual(ready);
  });

  test("a name that is close to a ready one is suggested, and other text is parsed", () => {
    expect(() => signatureOf("sumarize")).toThrow(
      expect.objectContaining({ hint: expect.stringContaining("did you mean summarize?") }),
    );
    expect(signatureOf("a -> b")).toEqual(parseSignature("a -> b"));
    expect(signatureOf("summarize", { instructions: "In German." }).instructions).toBe("In German.");
  });
});
