import { getJson, type SessionRef, sessionPath } from "../../api/client.ts";
import { pathPart } from "../../api/path-part.ts";
import { ErrorBox } from "../../parts/error-box.tsx";
import { useLoad } from "../../parts/load/use-load.ts";
import { formatDuration, plural } from "../../parts/text/format.ts";
import { formatUsd, orDash } from "../../parts/text/or-dash.ts";
import { shownName, shownText } from "../../parts/text/shown-name.ts";
import type { Agent, AgentCall, TrajectoryDetail, Turn } from "./trajectory.ts";

/** The attack: agents nested until the page overflows its stack. */
const maxDepth = 16;

/** What an agent did, turn by turn, with its sub-agents. */
export function TrajectoryView({ session, id }: { session: SessionRef; id: string }) {
  const { loaded, reload } = useLoad(
    (signal) => getJson<TrajectoryDetail>(sessionPath(session, `/trajectories/${pathPart(id)}`), { signal }),
    [session.id, session.namespace, id],
  );
  if (loaded.state === "failed") return <ErrorBox error={loaded.error} retry={reload} />;
  if (loaded.state === "loading") return <p class="quiet">Loading…</p>;
  const { agent, truncated } = loaded.value;
  return (
    <section class="trajectory card" aria-label="What the agent did" aria-live="polite">
      {truncated ? <p class="quiet">This agent did more than is shown here.</p> : null}
      <AgentView agent={agent} depth={0} />
    </section>
  );
}

function AgentView({ agent, depth }: { agent: Agent; depth: number }) {
  const { id, title, status, model, inputs, turns, outputs, message } = agent;
  if (depth > maxDepth) return <p class="quiet">Deeper agents are not shown.</p>;
  return (
    <div class="agent">
      <h3>
        {shownName(title, 200) || shownName(id)} <span class="badge">{shownName(status, 60)}</span>{" "}
        <span class="quiet">
          {plural(turns.length, "turn")} of {shownName(model)}
        </span>
      </h3>
      <Inputs inputs={inputs} />
      <ol>
        {turns.map((turn) => (
          <TurnView key={turn.turn} turn={turn} depth={depth} />
        ))}
      </ol>
      {message === null ? null : <p class="bad">{shownText(message)}</p>}
      {outputs === null ? null : <pre class="result">{shownText(JSON.stringify(outputs, null, 2))}</pre>}
    </div>
  );
}

function TurnView({ turn, depth }: { turn: Turn; depth: number }) {
  const { code, output, status, duration_ms, replies, calls, agents } = turn;
  return (
    <li value={turn.turn}>
      <details open={depth === 0}>
        <summary>
          Turn {turn.turn}{" "}
          <span class="quiet">
            {orDash(status, (text) => shownName(text, 60))} · {formatDuration(duration_ms)}
            {agents.length === 0 ? "" : ` · ${plural(agents.length, "sub-agent")}`}
          </span>
        </summary>
        <Calls title="Model" calls={replies} />
        {code === null ? null : <pre class="code">{shownText(code)}</pre>}
        {output === null || output === "" ? null : <pre class="output">{shownText(output)}</pre>}
        <Calls title="Called by the code" calls={calls} />
        {agents.map((agent) => (
          <AgentView key={agent.id} agent={agent} depth={depth + 1} />
        ))}
      </details>
    </li>
  );
}

function Inputs({ inputs }: { inputs: Agent["inputs"] }) {
  if (inputs.length === 0) return null;
  return (
    <dl class="inputs">
      {inputs.slice(0, 50).map(({ name, type, chars, preview }) => (
        <div key={name}>
          <dt>
            <code>{shownName(name)}</code>{" "}
            <span class="quiet">{`${shownName(type)}, ${plural(chars, "character")}`}</span>
          </dt>
          <dd>{shownName(preview, 200)}</dd>
        </div>
      ))}
    </dl>
  );
}

const shownCalls = 20;

function Calls({ title, calls }: { title: string; calls: readonly AgentCall[] }) {
  const left = calls.length - shownCalls;
  return (
    <>
      {calls.slice(0, shownCalls).map((call, index) => (
        <details key={index}>
          <summary>
            {title}: {shownName(call.model)}{" "}
            <span class="quiet">
              {shownName(call.status, 60)} · {formatDuration(call.duration_ms)} · {orDash(call.cost_usd, formatUsd)}
            </span>
          </summary>
          <pre>{shownText(call.prompt)}</pre>
          <pre class="output">{shownText(call.text)}</pre>
        </details>
      ))}
      {left > 0 ? <p class="quiet">{plural(left, "more call")}</p> : null}
    </>
  );
}
