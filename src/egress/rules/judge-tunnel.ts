import { isInspected } from "../../policy/network/inspect.ts";
import { type Denial, decide, deny, type EgressRequest, type EgressRules, type Permission } from "./decide.ts";
import { rulesAbout } from "./request-rules.ts";

/** Pure: whether a request or a tunnel is allowed. A host with request rules needs a tunnel that is inspected. */
export function judge(request: EgressRequest, rules: EgressRules): Permission | Denial {
  const verdict = decide(request, rules);
  if (!verdict.allow || request.via === "http" || request.via === "https") return verdict;
  const { host, port, via } = request;
  const isOpened = isInspected(rules.inspect ?? [], host, port);
  if (isOpened && via === "socks") {
    return deny(
      "not_inspected",
      `TLS to ${host} must be decrypted, which is not possible over SOCKS`,
      "use the HTTP proxy",
    );
  }
  if (!isOpened && rulesAbout(request, rules.rules).length > 0) {
    const reason = `net.rules limits requests to ${host}, and the proxy cannot see them inside TLS`;
    return deny("not_inspected", reason, `add ${host} to net.inspect`);
  }
  return verdict;
}

/** Pure: the same for an open tunnel. One that is not inspected is cut when its host must be inspected. */
export function judgeOngoing(request: EgressRequest, rules: EgressRules): Permission | Denial {
  const { host, port, via } = request;
  if (via !== "connect" || !isInspected(rules.inspect ?? [], host, port)) return judge(request, rules);
  return deny("not_inspected", `TLS to ${host} must be decrypted from now on`, "connect again");
}
