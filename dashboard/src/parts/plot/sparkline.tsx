import "./sparkline.css";
import { sparklinePath } from "./sparkline-path.ts";

const [width, height] = [84, 20];

/** A tiny curve. What it means in words is the text beside it, so screen readers skip it. */
export function Sparkline({ values, max }: { values: readonly (number | null)[]; max?: number }) {
  return (
    <svg class="sparkline" viewBox={`0 0 ${width} ${height}`} width={width} height={height} aria-hidden="true">
      <path d={sparklinePath(values, { width, height, max })} />
    </svg>
  );
}
