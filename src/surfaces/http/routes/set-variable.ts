import { z } from "zod";
import { CodecellError } from "../../../lib/errors.ts";
import { isJson } from "../../../lib/json/is-json.ts";
import { sessionId, variableName } from "../parameters.ts";
import { checkJsonType } from "../read-json.ts";
import { defineRoute } from "../route.ts";

const maxDepth = 128;

export const setVariableRoute = defineRoute({
  method: "PUT",
  path: "/v1/sessions/{session}/variables/{name}",
  id: "setVariable",
  summary: "Set a variable",
  tag: "variables",
  scope: "run",
  params: z.strictObject({ session: sessionId, name: variableName }),
  body: z.strictObject({ value: z.unknown().describe("any JSON") }),
  takesJsonBytes: true,
  replies: { 204: { description: "it is set" } },
  async handle({ params, bytes, tenant, request }) {
    checkJsonType(request);
    const value = valueIn(bytes);
    if (!value || !(await isJson(value, { maxDepth }))) {
      throw new CodecellError("usage", "the body is not a JSON object with the value and nothing else", {
        hint: `send {"value": …}, nested at most ${maxDepth} levels deep`,
      });
    }
    await (await tenant.sessions.get(params.session)).setJson(params.name, value);
    return { status: 204 };
  },
});

const start = /^[ \t\r\n]*\{[ \t\r\n]*"value"[ \t\r\n]*:/;
const maxStartBytes = 1024;

/** The JSON of the value, as it stands in the body. It is passed on as it is: the cell parses it, and the host never has to. */
function valueIn(body: Uint8Array): Uint8Array | undefined {
  const [found] = start.exec(Buffer.from(body.subarray(0, maxStartBytes)).toString("latin1")) ?? [];
  let end = body.byteLength - 1;
  while (end > 0 && isSpace(body[end] as number)) end--;
  return found === undefined || body[end] !== closingBrace ? undefined : body.subarray(found.length, end);
}

const closingBrace = 0x7d;

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d;
}
