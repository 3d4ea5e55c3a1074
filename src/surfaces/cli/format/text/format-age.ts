const steps = [
  { unit: "s", ms: 1000, below: 120 },
  { unit: "m", ms: 60_000, below: 120 },
  { unit: "h", ms: 3_600_000, below: 48 },
] as const;

/** 90,000 ms → `90s`: an age in a readable unit. */
export function formatAge(ms: number): string {
  const past = Math.max(0, ms); // the clock may have been set back
  for (const { unit, ms: size, below } of steps) {
    const whole = Math.floor(past / size);
    if (whole < below) return `${whole}${unit}`;
  }
  return `${Math.floor(past / 86_400_000)}d`;
}
