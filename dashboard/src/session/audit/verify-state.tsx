import { getJson, type SessionRef } from "../../api/client.ts";
import { ErrorBox } from "../../parts/error-box.tsx";
import { useLoad } from "../../parts/load/use-load.ts";
import { plural } from "../../parts/text/format.ts";
import { shownName } from "../../parts/text/shown-name.ts";
import { auditKey } from "./audit-key.ts";

interface Report {
  readonly sound: boolean;
  readonly chains: readonly { readonly lines: number; readonly lost_events?: number }[];
  readonly problems: readonly { readonly message: string; readonly line?: number | null }[];
}

/** Whether the files that hold this session's events are as they were written. */
export function VerifyState({ session }: { session: SessionRef }) {
  const query = new URLSearchParams({ session: auditKey(session) });
  const { loaded, reload } = useLoad(
    (signal) => getJson<Report>(`/v1/audit/verify?${query}`, { signal }),
    [session.id, session.namespace],
  );
  if (loaded.state === "failed") return <ErrorBox error={loaded.error} retry={reload} />;
  return (
    <div class="card verify-state" aria-live="polite">
      {loaded.state === "loading" ? <span class="quiet">Verifying…</span> : <Verdict report={loaded.value} />}
      <button type="button" onClick={reload}>
        Verify again
      </button>
    </div>
  );
}

function Verdict({ report: { sound, chains, problems } }: { report: Report }) {
  if (sound) {
    const lines = chains.reduce((sum, chain) => sum + chain.lines, 0);
    // a tenant is not told how long the chains are: they hold the lines of others too
    const size = chains.length === 0 ? "" : ` ${plural(lines, "line")} in ${plural(chains.length, "chain")} of hashes.`;
    return (
      <>
        <span class="badge ok">sound</span>
        <span class="quiet">Every line of this session's audit is as it was written, and none is missing.{size}</span>
      </>
    );
  }
  if (problems.length === 0) return <span class="quiet">Nothing about this session is written yet.</span>;
  return (
    <>
      <span class="badge bad">damaged</span>
      <span class="quiet">
        Lines were changed or removed after they were written. Do not rely on what is listed below.
      </span>
      <ul>
        {problems.slice(0, 20).map(({ message, line }) => (
          <li key={`${line} ${message}`} class="any-text">
            {typeof line === "number" ? `line ${line}: ` : ""}
            {shownName(message, 400)}
          </li>
        ))}
      </ul>
    </>
  );
}
