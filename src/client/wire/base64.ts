import { CodecellError } from "../../lib/errors.ts";

/** The bytes of a base64 text. */
export function fromBase64(text: string): Uint8Array {
  try {
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
    return bytes;
  } catch (cause) {
    throw new CodecellError("service_unavailable", "the service sent invalid base64", {
      cause,
      details: { status: 200 },
    });
  }
}
