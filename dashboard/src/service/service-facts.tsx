import type { ComponentChildren } from "preact";
import { getJson } from "../api/client.ts";
import { useLoad } from "../parts/load/use-load.ts";
import { Ago } from "../parts/text/ago.tsx";
import { shownName } from "../parts/text/shown-name.ts";
import type { ListedSession } from "../sessions/session-rows.ts";
import { isAdmin, me } from "../state/service.ts";

/** What the service is, and as whom the page looks at it. */
export function ServiceFacts() {
  const query = isAdmin.value ? "?namespaces=all" : "";
  const { loaded } = useLoad(
    (signal) => getJson<{ sessions: ListedSession[] }>(`/v1/sessions${query}`, { signal }),
    [query],
  );
  const sessions = loaded.state === "ready" ? loaded.value.sessions : [];
  const runners = [...new Set(sessions.flatMap(({ runner }) => (runner === null ? [] : [runner])))].sort();
  const now = me.value;
  if (!now) return null;
  const { version, started_at, policy_hash, audit, network, models, persist } = now.service;
  return (
    <dl class="facts card">
      <Fact name="Version">{shownName(version)}</Fact>
      <Fact name="Started">
        <Ago at={started_at} />
      </Fact>
      <Fact name="Policy">
        <code title={shownName(policy_hash)}>{shownName(policy_hash.slice(0, 12))}</code>
      </Fact>
      <Fact name="Runners in use">
        {runners.length === 0 ? "none" : runners.map((one) => shownName(one)).join(", ")}
      </Fact>
      <Fact name="Network">{network ? "open to the hosts of the policy" : "closed"}</Fact>
      <Fact name="Models">{models.length === 0 ? "none" : models.map((one) => shownName(one)).join(", ")}</Fact>
      <Fact name="Audit">{audit ? "on" : "off"}</Fact>
      <Fact name="Sessions are kept">{persist ? "after the service ends" : "while the service runs"}</Fact>
      <Fact name="Token">{shownName(now.token)}</Fact>
      <Fact name="Scopes">{now.scopes.join(", ")}</Fact>
      <Fact name="Token ends">{now.expires_at === null ? "never" : <Ago at={now.expires_at} />}</Fact>
    </dl>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
