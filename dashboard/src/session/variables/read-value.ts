import { call, getJson, type SessionRef, sessionPath } from "../../api/client.ts";
import { pathPart } from "../../api/path-part.ts";
import { expressionFor } from "./expression-for.ts";

/** The beginning of a value. */
export interface ValuePreview {
  readonly form: "json" | "repr";
  readonly text: string;
  /** of the whole text; undefined: not known */
  readonly characters: number | undefined;
  readonly isCut: boolean;
}

const maxBytes = 64 * 1024;

/** Reads the beginning of a variable. With the scope `run` it works for any value; without, for values that JSON can represent. */
export async function readValue(
  session: SessionRef,
  name: string,
  mayRun: boolean,
  signal: AbortSignal,
): Promise<ValuePreview> {
  if (!mayRun) return await readJson(session, name, signal);
  const json = { expression: expressionFor(name), as: "preview", max_bytes: maxBytes };
  const answer = await getJson<{ form: "json" | "repr"; text: string; characters: number; is_cut: boolean }>(
    sessionPath(session, "/values"),
    { method: "POST", json, signal },
  );
  const { form, text, characters, is_cut } = answer;
  return { form, text, characters, isCut: is_cut };
}

async function readJson(session: SessionRef, name: string, signal: AbortSignal): Promise<ValuePreview> {
  const response = await call(sessionPath(session, `/variables/${pathPart(name)}`), { signal });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  let isCut = false;
  while (reader) {
    const { done, value } = await reader.read();
    if (done) break;
    text += value;
    if (text.length <= maxBytes) continue;
    isCut = true;
    await reader.cancel();
    break;
  }
  const begin = text.indexOf('"value":') + '"value":'.length; // the answer is {"name":…,"value":…}
  const value = isCut ? text.slice(begin, maxBytes) : text.slice(begin, text.lastIndexOf("}"));
  return { form: "json", text: value.trim(), characters: isCut ? undefined : value.length, isCut };
}
