/** Units as people write them in a policy, in bytes and in milliseconds. */
export const sizeUnits: Record<string, number> = {
  B: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
};
export const durationUnits: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** 536870912 → `512MiB`; exact: it parses back to the same number. */
export function formatSize(bytes: number): string {
  const units = ["GiB", "GB", "MiB", "MB", "KiB", "KB"];
  return format(bytes, sizeUnits, units, "B");
}

/** 90000 → `90s`; exact too. */
export function formatDuration(ms: number): string {
  return format(ms, durationUnits, ["h", "m", "s"], "ms");
}

function format(value: number, units: Record<string, number>, names: readonly string[], smallest: string): string {
  for (const name of names) {
    const factor = units[name] ?? Number.NaN;
    if (value >= factor && value % factor === 0) return `${value / factor}${name}`;
  }
  return `${value}${smallest}`;
}
