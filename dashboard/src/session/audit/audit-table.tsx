import { formatTime } from "../../parts/text/format.ts";
import { useShowMore } from "../../parts/text/show-more.tsx";
import { shownName, shownText } from "../../parts/text/shown-name.ts";
import { type AuditEntry, detailsOf } from "./audit-entry.ts";

const tones: Readonly<Record<string, string>> = { denied: "bad", allowed: "ok", lost: "bad", rollback: "warn" };

/** Events, newest first. */
export function AuditTable({ entries }: { entries: readonly AuditEntry[] }) {
  const [limit, more] = useShowMore(entries.length, 200);
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls has to be reachable with the keyboard */}
      <section class="scroll-x" tabIndex={0} aria-label="Events">
        <table>
          <thead>
            <tr>
              <th>Time</th>
              <th>Event</th>
              <th class="number">Run</th>
              <th>Details</th>
            </tr>
          </thead>
          <tbody>
            {entries.slice(0, limit).map((entry, index) => (
              <tr key={`${entry.time} ${entry.type} ${entries.length - index}`}>
                <td class="audit-time">
                  <time dateTime={entry.time}>{formatTime(entry.time)}</time>
                </td>
                <td>
                  <span class={`badge ${tones[entry.type.split(".")[1] ?? ""] ?? ""}`}>
                    {shownName(entry.type, 60)}
                  </span>
                </td>
                <td class="number">{entry.run ?? ""}</td>
                <td>
                  <Details entry={entry} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {more}
    </>
  );
}

const shortCharacters = 120;

/** A digest is recognized by its beginning; the title has all of it. */
function Short({ text }: { text: string }) {
  if (!/^[0-9a-f]{64}$/.test(text)) return <>{shownName(text)}</>;
  return <code title={text}>{text.slice(0, 12)}…</code>;
}

function Details({ entry }: { entry: AuditEntry }) {
  return (
    <ul class="audit-details">
      {detailsOf(entry).map(({ name, text }) => (
        <li key={name} class="any-text">
          <span class="quiet">{shownName(name, 60)}</span>{" "}
          {text.length > shortCharacters || text.includes("\n") ? (
            <details>
              <summary>{shownName(text, shortCharacters)}</summary>
              {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable with the keyboard */}
              <pre tabIndex={0}>{shownText(text, 20_000)}</pre>
            </details>
          ) : (
            <Short text={text} />
          )}
        </li>
      ))}
    </ul>
  );
}
