import UPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { PlotProps } from "./plot.tsx";

type Data = Pick<PlotProps, "times" | "curves" | "format">;

/** A plot on the screen. Loaded only with the first plot: the rest of the page does not need it. */
export interface Drawing {
  update(data: Data): void;
  remove(): void;
}

const height = 160;

export function draw(place: HTMLElement, first: Data): Drawing {
  const style = getComputedStyle(place);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const axis = { stroke: colour("--quiet"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
  const series = first.curves.map(({ name, colour: variable }) => {
    return { label: name, stroke: colour(variable), width: 1.5, points: { show: false }, spanGaps: false };
  });
  const plot = new UPlot(
    {
      ...{ width: place.clientWidth || 300, height },
      ...{ legend: { show: false }, cursor: { show: false }, padding: [8, 8, 0, 0] },
      scales: { y: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.1 : 1] } },
      axes: [
        { ...axis, size: 26, space: 80, values: (_plot, at) => at.map(clockTime) },
        { ...axis, size: 72, space: 36, values: (_plot, at) => at.map((value) => first.format(value)) },
      ],
      series: [{}, ...series],
    },
    aligned(first),
    place,
  );
  const watcher = new ResizeObserver(() => {
    if (place.clientWidth > 0 && place.clientWidth !== plot.width) plot.setSize({ width: place.clientWidth, height });
  });
  watcher.observe(place);
  return {
    update: (data) => plot.setData(aligned(data)),
    remove: () => {
      watcher.disconnect();
      plot.destroy();
    },
  };
}

function aligned({ times, curves }: Data): UPlot.AlignedData {
  return [times.map((time) => Date.parse(time) / 1000), ...curves.map(({ values }) => [...values])];
}

function clockTime(seconds: number): string {
  return new Date(seconds * 1000).toTimeString().slice(0, 8);
}
