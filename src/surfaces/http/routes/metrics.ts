import type { ServerResponse } from "node:http";
import { defineRoute } from "../route.ts";

const contentType = "text/plain; version=0.0.4; charset=utf-8";

export const metricsRoute = defineRoute({
  method: "GET",
  path: "/metrics",
  id: "metrics",
  summary: "Get metrics for Prometheus",
  description:
    "Needs the scope `metrics`. With `codecell serve --open-metrics`, callers on the same machine need no token.",
  tag: "service",
  scope: "metrics",
  replies: { 200: { description: "the text format", contentType } },
  async handle({ service }) {
    const text = service.metricsText();
    const send = async (response: ServerResponse) => {
      response.writeHead(200, { "content-type": contentType, "cache-control": "no-store" }).end(text);
    };
    return { send };
  },
});
