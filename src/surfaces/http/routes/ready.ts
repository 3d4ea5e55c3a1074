import { z } from "zod";
import { CodecellError } from "../../../lib/errors.ts";
import { defineRoute } from "../route.ts";

export const readyRoute = defineRoute({
  method: "GET",
  path: "/readyz",
  id: "ready",
  summary: "Check that the service can serve sessions",
  description:
    "Needs no token. 503 while the service starts or stops, and while a gateway has no lease, because it cannot reach its database: a router sends requests to the other gateways then.",
  tag: "service",
  scope: "none",
  isProbe: true,
  replies: { 200: { description: "it can", schema: z.object({ status: z.literal("ready") }) } },
  async handle({ service }) {
    const problem = service.gateways?.lease.problem;
    if (problem !== undefined) throw new CodecellError("service_unavailable", problem, { hint: "try again" });
    return { json: { status: "ready" } };
  },
});
