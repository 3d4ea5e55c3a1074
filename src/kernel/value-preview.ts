import { z } from "zod";
import { CodecellError } from "../lib/errors.ts";

/** The beginning of a value, as text. */
export interface ValuePreview {
  /** `repr` if the value has no JSON form */
  readonly form: "json" | "repr";
  readonly text: string;
  /** length of the whole text, in Unicode characters */
  readonly characters: number;
  readonly isCut: boolean;
}

const newline = 10;
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const header = z.object({ form: z.enum(["json", "repr"]), characters: z.int().min(0) });

const maxHeaderBytes = 200;

/** Parses the cell's answer: a header line, then the text. User code can forge both, so the header is validated. */
export function parsePreview(data: Uint8Array): ValuePreview {
  const end = data.subarray(0, maxHeaderBytes).indexOf(newline);
  try {
    const { form, characters } = header.parse(JSON.parse(decoder.decode(data.subarray(0, Math.max(end, 0)))));
    const text = decoder.decode(data.subarray(end + 1));
    return { form, text, characters, isCut: countCharacters(text) < characters };
  } catch (cause) {
    throw new CodecellError("variable_unserializable", "the cell's answer is not a valid preview", {
      cause,
    });
  }
}

/** Without an array of them, which would take many times the memory of the text. */
function countCharacters(text: string): number {
  let characters = 0;
  for (let at = 0; at < text.length; at++) {
    if ((text.codePointAt(at) as number) > 0xffff) at++;
    characters++;
  }
  return characters;
}
