import { useState } from "preact/hooks";
import { formatCount } from "./format.ts";

/** How many rows of a long list are on the screen, and the button that shows more of them. */
export function useShowMore(total: number, step: number) {
  const [limit, setLimit] = useState(step);
  const left = total - limit;
  const button =
    left > 0 ? (
      <button type="button" onClick={() => setLimit(limit + step)}>
        Show {formatCount(Math.min(left, step))} more of {formatCount(left)}
      </button>
    ) : null;
  return [limit, button] as const;
}
