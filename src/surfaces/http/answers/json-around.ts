import type { Reply } from "../route.ts";
import { jsonType } from "./send-json.ts";

/** A JSON object whose member `value` is already JSON. */
export function jsonAround(fields: Readonly<Record<string, string>>, value: Uint8Array): Reply {
  const before = JSON.stringify({ ...fields, value: 0 }).slice(0, -2);
  return { bytes: [Buffer.from(before), value, Buffer.from("}")], contentType: jsonType };
}
