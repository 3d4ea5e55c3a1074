import { expect, test } from "vitest";
import { CodecellError } from "../../../lib/errors.ts";
import { ApiRefusal, explained, refusalOf } from "./api-refusal.ts";

const asked = { verb: "create", resource: "pods", namespace: "cells" } as const;
const explain = (status: number, message: string, retryAfter?: string) =>
  explained(refusalOf(status, JSON.stringify({ kind: "Status", message, reason: "R" }), retryAfter), asked, "k8s:6443");

test("a missing right is named with its verb, resource and namespace", () => {
  const text = 'pods is forbidden: User "x" cannot create resource "pods" in API group "" in the namespace "cells"';
  expect(explain(403, text)).toMatchObject({
    code: "runner_unavailable",
    message: "codecell may not create pods in the namespace cells",
    hint: "grant this right in the Role of codecell's service account: create pods in the namespace cells",
  });
});

test.each([
  [
    403,
    "exceeded quota: q, requested: pods=1, used: pods=9, limited: pods=9",
    "cell_start_failed",
    /quota .*used up/,
    /ResourceQuota/,
  ],
  [
    403,
    'violates PodSecurity "restricted:latest": seccompProfile',
    "cell_start_failed",
    /admission rules/,
    /allow what/,
  ],
  [
    403,
    'error looking up service account cells/default: serviceaccount "default" not found',
    "cell_start_failed",
    /service account/,
    /allow what/,
  ],
  [401, "Unauthorized", "runner_unavailable", /does not accept/, /renew/],
  [
    404,
    'namespaces "cells" not found',
    "runner_unavailable",
    /namespace cells does not exist/,
    /kubectl create namespace cells/,
  ],
  [409, "object has been modified", "cell_start_failed", /changed at the same time/, /try again/],
  [422, "Pod is invalid: spec", "cell_start_failed", /rejects/, /CODECELL_KUBERNETES/],
  [500, "etcd", "runner_unavailable", /refused to create pods/, /log/],
])("the status %i with %s says what to do", (status, message, code, text, hint) => {
  const error = explain(status, message);
  expect(error).toMatchObject({ code, message: expect.stringMatching(text), hint: expect.stringMatching(hint) });
});

test("too many requests carry the time after which to try again", () => {
  const error = explain(429, "slow down", "7");
  expect(error).toMatchObject({
    code: "runner_unavailable",
    hint: "try again in 7 s",
    details: { retryAfterMs: 7000 },
  });
});

test("an answer of a proxy that is not JSON is kept as text", () => {
  expect(refusalOf(502, "<html>bad gateway</html>", undefined)).toMatchObject({
    status: 502,
    message: "<html>bad gateway</html>",
  });
});

test("a server that cannot be reached makes the runner unavailable, and known errors stay as they are", () => {
  expect(explained(new Error("connect ECONNREFUSED"), asked, "k8s:6443")).toMatchObject({
    code: "runner_unavailable",
    message: "the API server at k8s:6443 does not answer: connect ECONNREFUSED",
  });
  const own = new CodecellError("aborted", "x");
  expect(explained(own, asked, "k8s")).toBe(own);
  expect(new ApiRefusal(404, "", "x").status).toBe(404);
});
