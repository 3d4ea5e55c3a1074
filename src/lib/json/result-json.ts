import { messageOf } from "../errors.ts";
import { GuestFailure } from "../guest-failure.ts";
import { strictJson } from "./strict-json.ts";

/** JSON of what a host function returned. Its failure is for the program that called: errors of the encoder name the host's internals. */
export function resultJson(name: string, value: unknown): string {
  try {
    return strictJson(value);
  } catch (cause) {
    throw new GuestFailure("HostError", `${name} returned a value that is not JSON: ${messageOf(cause)}`, { cause });
  }
}
