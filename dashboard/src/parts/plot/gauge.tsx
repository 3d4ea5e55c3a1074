import "./gauge.css";

/** How much of a limit is used, as a bar and in words. */
export function Gauge({
  name,
  used,
  limit,
  shown,
  note,
}: {
  name: string;
  /** null: unknown */
  used: number | null;
  /** null: there is no limit */
  limit: number | null;
  shown: (value: number) => string;
  note?: string | undefined;
}) {
  const text = usedText(used, limit, shown);
  return (
    <div class="gauge card">
      <span class="gauge-name">{name}</span>
      <span>{text}</span>
      {used === null || limit === null || limit <= 0 ? null : (
        <meter
          aria-label={name}
          aria-valuetext={text}
          min={0}
          max={limit}
          low={limit * 0.7}
          high={limit * 0.9}
          optimum={0}
          value={Math.min(used, limit)}
        >
          {text}
        </meter>
      )}
      {note === undefined ? null : <span class="quiet">{note}</span>}
    </div>
  );
}

function usedText(used: number | null, limit: number | null, shown: (value: number) => string): string {
  if (used === null) return limit === null ? "no limit" : `at most ${shown(limit)}`;
  return limit === null ? `${shown(used)}, no limit` : `${shown(used)} of ${shown(limit)}`;
}
