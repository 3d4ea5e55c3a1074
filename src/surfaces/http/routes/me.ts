import { policyHash } from "../../../policy/hash.ts";
import { codecellVersion } from "../../../service/version.ts";
import { meSchema, type WireMe } from "../../../service/wire/me.ts";
import { encodeTime } from "../../../service/wire/timestamp.ts";
import { defineRoute } from "../route.ts";

export const meRoute = defineRoute({
  method: "GET",
  path: "/v1/me",
  id: "me",
  summary: "Show this token and the service",
  tag: "service",
  scope: "read",
  replies: { 200: { description: "the token and the service", schema: meSchema } },
  async handle({ token, service }) {
    const { policy } = service.codecell;
    const json: WireMe = {
      ...{ token: token.name, namespace: token.namespace, scopes: [...token.scopes] },
      expires_at: token.expiresMs === undefined ? null : encodeTime(token.expiresMs),
      service: {
        ...{ version: codecellVersion(), started_at: encodeTime(service.startedMs), policy_hash: policyHash(policy) },
        ...{ audit: service.audit !== undefined, network: policy.net.enabled },
        ...{ models: [...policy.llm.models], persist: policy.session.persist },
        ...{ gateways: service.gateways !== undefined, undo: policy.session.undo },
      },
    };
    return { json };
  },
});
