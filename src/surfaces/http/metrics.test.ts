import { expect, test } from "vitest";
import { Metrics } from "./metrics.ts";

const gauges = {
  ...{ bodyBytes: 0, requests: 1, runs: 2, sessions: 3, tenants: 4 },
  pool: { ready: 5, target: 5, hits: 6, misses: 7, missWaitMs: 0 },
};

test("metrics have the Prometheus text format, with help and type for every sample", () => {
  const metrics = new Metrics();
  metrics.request("GET", "/v1/sessions/{session}", 200, 30);
  metrics.request("GET", "/v1/sessions/{session}", 200, 3_000);
  metrics.runEnded("ok");
  const lines = metrics.text(gauges).trimEnd().split("\n");
  expect(lines).toContain('codecell_http_requests_total{method="GET",route="/v1/sessions/{session}",status="200"} 2');
  expect(lines).toContain('codecell_http_request_seconds_bucket{le="0.1"} 1');
  expect(lines).toContain('codecell_http_request_seconds_bucket{le="+Inf"} 2');
  expect(lines).toContain('codecell_runs_total{status="ok"} 1');
  expect(lines).toContain("codecell_sessions_live 3");
  for (const line of lines) expect(line).toMatch(/^(?:# (?:HELP|TYPE) \w+ .+|\w+(?:\{.*\})? [\d.e+-]+)$/);
});
