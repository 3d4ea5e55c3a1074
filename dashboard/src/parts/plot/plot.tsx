import { useEffect, useRef } from "preact/hooks";
import { theme } from "../../state/theme.ts";
import { numbers, TableHead } from "../table-head.tsx";
import { formatTime } from "../text/format.ts";
import "./plot.css";
import { shownName } from "../text/shown-name.ts";
import type { Drawing } from "./plot-drawing.ts";

/** One curve of a plot. */
export interface Curve {
  readonly name: string;
  /** one per time; null: unknown */
  readonly values: readonly (number | null)[];
  /** a colour variable of the page, such as `--ok` */
  readonly colour: string;
}

export interface PlotProps {
  readonly title: string;
  readonly times: readonly string[];
  readonly curves: readonly Curve[];
  readonly format: (value: number) => string;
}

const tableRows = 20;

/** Curves over time. The same numbers are in a table under it, for who cannot see a picture. */
export function Plot({ title, times, curves, format }: PlotProps) {
  const place = useRef<HTMLDivElement>(null);
  const drawing = useRef<Drawing>(undefined);
  const latest = useRef({ times, curves, format });
  latest.current = { times, curves, format };
  const names = curves.map(({ name }) => name).join("\n");
  useEffect(() => {
    let isGone = false;
    void import("./plot-drawing.ts").then(({ draw }) => {
      if (!isGone && place.current) drawing.current = draw(place.current, latest.current);
    });
    return () => {
      isGone = true;
      drawing.current?.remove();
      drawing.current = undefined;
    };
  }, [names, theme.value]);
  useEffect(() => drawing.current?.update(latest.current), [times, curves]);
  return (
    <figure class="plot card">
      <figcaption>
        <h2>{title}</h2>
        <ul class="legend">
          {curves.map(({ name, values, colour }) => (
            <li key={name}>
              <span class="swatch" style={{ background: `var(${colour})` }} aria-hidden="true" /> {shownName(name, 40)}{" "}
              <strong>{last(values, format)}</strong>
            </li>
          ))}
        </ul>
      </figcaption>
      <div class="plot-place" ref={place} aria-hidden="true" />
      <details>
        <summary>As a table</summary>
        <PlotTable title={title} times={times} curves={curves} format={format} />
      </details>
    </figure>
  );
}

function PlotTable({ title, times, curves, format }: PlotProps) {
  const from = Math.max(0, times.length - tableRows);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls has to be reachable with the keyboard
    <section class="scroll-x" tabIndex={0} aria-label={`${title}: the last ${times.length - from} values`}>
      <table>
        <TableHead columns={["Time", ...numbers(...curves.map(({ name }) => shownName(name, 40)))]} />
        <tbody>
          {times
            .slice(from)
            .map((time, index) => (
              <tr key={time}>
                <td>{formatTime(time)}</td>
                {curves.map(({ name, values }) => (
                  <td class="number" key={name}>
                    {shown(values[from + index], format)}
                  </td>
                ))}
              </tr>
            ))
            .reverse()}
        </tbody>
      </table>
    </section>
  );
}

function last(values: readonly (number | null)[], format: (value: number) => string): string {
  return shown(values.at(-1), format);
}

function shown(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? "–" : format(value);
}
