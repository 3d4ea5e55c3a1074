import { z } from "zod";
import { remoteFunctionsOf } from "../../../service/functions/remote-functions.ts";
import { sessionParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

const schema = z.record(z.string(), z.unknown());
const maxFunctions = 256;
const maxTimeoutSeconds = 600;

export const setFunctionsRoute = defineRoute({
  method: "PUT",
  path: "/v1/sessions/{session}/functions",
  id: "setFunctions",
  summary: "Set the functions that programs may call",
  description:
    "Programs in the session can call these functions from the next run on. Fetch the calls with GET …/calls and answer each with POST …/calls/{call}. Replaces the earlier functions.",
  tag: "functions",
  scope: "run",
  params: sessionParams,
  body: z.strictObject({
    functions: z
      .array(
        z.strictObject({
          name: z.string().max(64).describe("name in Python"),
          description: z.string().max(20_000).describe("the docstring"),
          input: schema.describe("JSON Schema of an object: its properties are the parameters"),
          output: schema.optional().describe("JSON Schema of the result; default: any value"),
          kind: z
            .enum(["call", "submit"])
            .default("call")
            .describe("`submit`: once the call is answered with a value, the run ends, as with sys.exit()"),
          timeout: z.number().positive().max(maxTimeoutSeconds).default(120).describe("seconds that a call may take"),
        }),
      )
      .max(maxFunctions),
  }),
  replies: { 204: { description: "they are set" } },
  async handle({ params, body, tenant }) {
    const session = await tenant.sessions.get(params.session);
    await remoteFunctionsOf(session).declare(
      body.functions.map(({ output, timeout, ...described }) => ({
        ...{ ...described, timeoutMs: timeout * 1000 },
        ...(output === undefined ? {} : { output }),
      })),
    );
    return { status: 204 };
  },
});
