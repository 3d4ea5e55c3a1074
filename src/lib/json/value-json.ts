import { CodecellError, messageOf } from "../errors.ts";
import { strictJson } from "./strict-json.ts";

const hint =
  "pass a string, bytes or a JSON value: finite numbers, strings, booleans, null, arrays and plain objects, such as Object.fromEntries(map) or [...set]";

/** JSON of a value that a caller puts into a variable. */
export function valueJson(name: string, value: unknown): string {
  try {
    return strictJson(value);
  } catch (cause) {
    const message = `the value for ${name} cannot be converted to JSON: ${messageOf(cause)}`;
    throw new CodecellError("variable_unserializable", message, { hint, cause });
  }
}
