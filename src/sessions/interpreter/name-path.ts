import { CodecellError } from "../../lib/errors.ts";
import { isVariableName } from "./variable-name.ts";

/** Pure: the parts of a dotted name. */
export function namePath(name: string): string[] {
  const path = name.split(".");
  if (path.every(isVariableName)) return path;
  const hint = "pass a name such as x or numpy.array; expressions are not evaluated";
  throw new CodecellError("usage", `${JSON.stringify(name.slice(0, 80))} is not a name`, { hint });
}
