import type { DisplayEvent, RunResult } from "../../sessions/runs/run.ts";

/** What a model reads of a displayed value, best first. */
const textForms = ["text/plain", "text/markdown", "text/latex", "application/json"];

/** What a run printed, with each displayed value as text where the program displayed it. */
export function outputText({ stdout, displays, value }: Pick<RunResult, "stdout" | "displays" | "value">): string {
  if (displays.length === 0) return stdout;
  const shown = byValue(displays);
  if (isTheValue(shown.at(-1), value)) shown.pop();
  let text = "";
  let at = 0;
  let images = 0;
  for (const forms of shown) {
    const until = forms[0]?.stdoutOffset ?? stdout.length;
    text += stdout.slice(at, until);
    at = Math.max(at, until);
    const image = forms.some(({ mime }) => mime === "image/png") ? ++images : undefined;
    text += `${text === "" || text.endsWith("\n") ? "" : "\n"}${displayText(forms, image)}\n`;
  }
  return text + stdout.slice(at);
}

/** The forms of one value arrive one after the other. */
function byValue(displays: readonly DisplayEvent[]): DisplayEvent[][] {
  const values: DisplayEvent[][] = [];
  for (const form of displays) {
    if (values.at(-1)?.[0]?.display === form.display) values.at(-1)?.push(form);
    else values.push([form]);
  }
  return values;
}

/** The last expression's value arrives as the result, and as a display if it has more forms than text. */
function isTheValue(forms: readonly DisplayEvent[] | undefined, value: string | undefined): boolean {
  return forms !== undefined && forms.length > 1 && value !== undefined && plainText(forms) === value;
}

function displayText(forms: readonly DisplayEvent[], image: number | undefined): string {
  if (image !== undefined) return `[image ${image}]`;
  return plainText(forms) ?? forms.map(({ mime, data }) => `[${mime}, ${data.byteLength} bytes]`).join(" ");
}

function plainText(forms: readonly DisplayEvent[]): string | undefined {
  const mime = textForms.find((one) => forms.some((form) => form.mime === one));
  const data = forms.find((form) => form.mime === mime)?.data;
  return data === undefined ? undefined : Buffer.from(data).toString();
}
