import { z } from "zod";
import { defineRoute } from "../route.ts";

export const openApiRoute = defineRoute({
  method: "GET",
  path: "/v1/openapi.json",
  id: "openapi",
  summary: "Get this OpenAPI document",
  tag: "service",
  scope: "read",
  replies: { 200: { description: "OpenAPI 3.1", schema: z.record(z.string(), z.unknown()) } },
  async handle({ service }) {
    return { json: service.openApi() };
  },
});
