import { z } from "zod";
import { defineRoute } from "../route.ts";

export const healthRoute = defineRoute({
  method: "GET",
  path: "/v1/health",
  id: "health",
  summary: "Check that the service is running",
  description: "Needs no token and gives no details. During shutdown every path returns 503.",
  tag: "service",
  scope: "none",
  isProbe: true,
  replies: { 200: { description: "the service is running", schema: z.object({ status: z.literal("ok") }) } },
  async handle() {
    return { json: { status: "ok" } };
  },
});
