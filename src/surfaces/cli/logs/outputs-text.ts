/** Longer outputs are cut at their beginning: how a run ended is more interesting. */
const maxCharacters = 64 * 1024;

/** What a history keeps of a run's outputs, as far as it could be understood. */
interface KnownOutputs {
  readonly events: readonly KnownEvent[];
  readonly value: string | undefined;
  readonly traceback: string | undefined;
  readonly leftOutBytes: number;
}

type KnownEvent =
  | { readonly type: "stdout" | "stderr"; readonly text: string }
  | { readonly type: "display"; readonly display: unknown; readonly mime: string; readonly bytes: number };

/** What a run printed, displayed and returned, in this order, and its traceback. Shapes of another version are left out. */
export function outputsText(outputs: unknown): string {
  const known = knownOutputs(outputs);
  if (!known) return "";
  const shown = known.events.map((event, index) => eventText(event, known.events[index - 1])).join("");
  const missing = known.leftOutBytes > 0 ? `${ended(shown)}… ${known.leftOutBytes} more bytes are not kept\n` : shown;
  const text = [missing, known.value, known.traceback].reduce<string>(
    (before, next) => (next === undefined || next === "" ? before : `${ended(before)}${ended(next)}`),
    "",
  );
  return text.length <= maxCharacters ? text : `…\n${text.slice(-maxCharacters)}`;
}

/** The same for programs. Pictures are named, not included: `sessions export` has them. */
export function outputsJson(outputs: unknown): object | null {
  const known = knownOutputs(outputs);
  if (!known) return null;
  const { events, value, traceback, leftOutBytes } = known;
  const shown = events.map((event) => {
    if (event.type !== "display") return event;
    return { type: event.type, mime: event.mime, bytes: event.bytes };
  });
  return { events: shown, value: value ?? null, traceback: traceback ?? null, left_out_bytes: leftOutBytes };
}

/** The forms of one display share a number: one of them is enough for a person. */
function eventText(event: KnownEvent, before: KnownEvent | undefined): string {
  if (event.type !== "display") return event.text;
  const isNext = before?.type === "display" && before.display === event.display;
  return isNext ? "" : `[${event.mime}, ${event.bytes} bytes]\n`;
}

function knownOutputs(outputs: unknown): KnownOutputs | undefined {
  if (!isObject(outputs) || !Array.isArray(outputs.events)) return undefined;
  const traceback = isObject(outputs.error) ? outputs.error.traceback : undefined;
  return {
    events: outputs.events.flatMap(knownEvent),
    value: typeof outputs.value === "string" ? outputs.value : undefined,
    traceback: typeof traceback === "string" ? traceback : undefined,
    leftOutBytes: typeof outputs.leftOutBytes === "number" ? outputs.leftOutBytes : 0,
  };
}

function knownEvent(event: unknown): KnownEvent[] {
  if (!isObject(event)) return [];
  const { type, text, mime, data, display } = event;
  if ((type === "stdout" || type === "stderr") && typeof text === "string") return [{ type, text }];
  if (type !== "display" || typeof mime !== "string" || !(data instanceof Uint8Array)) return [];
  return [{ type, display, mime, bytes: data.byteLength }];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function ended(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}
