/** Pure: the path of a curve from its left to its right edge. Unknown values interrupt it. */
export function sparklinePath(
  values: readonly (number | null)[],
  { width, height, max }: { readonly width: number; readonly height: number; readonly max?: number | undefined },
): string {
  const known = values.filter((value) => value !== null);
  const top = Math.max(max ?? 0, ...known, 1e-9);
  const step = values.length > 1 ? width / (values.length - 1) : 0;
  let path = "";
  let isDrawing = false;
  values.forEach((value, index) => {
    if (value === null) {
      isDrawing = false;
      return;
    }
    const y = 1 + (height - 2) * (1 - Math.min(1, Math.max(0, value / top)));
    path += `${isDrawing ? "L" : "M"}${round(index * step)} ${round(y)}`;
    isDrawing = true;
  });
  if (known.length === 1) path += `h${Math.max(2, round(step))}`; // one value alone would draw nothing
  return path;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
