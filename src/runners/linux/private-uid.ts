/** A range of host uids that belong to nobody, for cells started by root. */
export interface UidRange {
  readonly first: number;
  readonly count: number;
}

// above what distributions give to people, services and subordinate ranges by default
const preferred: UidRange = { first: 1_879_048_192, count: 65_536 };
const smallest = 1000;

/**
 * Pure: the text of /proc/self/uid_map in, the uids a root process here can become out. In a rootless container only a
 * few exist, so the upper half of the last mapped range is taken. Undefined: none, so root has no way to step down.
 */
export function privateUids(uidMap: string): UidRange | undefined {
  const ranges = uidMap.split("\n").flatMap((line) => {
    const [first, , count] = line.trim().split(/\s+/).map(Number);
    return first === undefined || count === undefined || Number.isNaN(first + count) ? [] : [{ first, count }];
  });
  const isMapped = ({ first, count }: UidRange) =>
    ranges.some((range) => range.first <= first && first + count <= range.first + range.count);
  if (isMapped(preferred)) return preferred;
  const last = ranges.sort((a, b) => a.first - b.first).at(-1);
  if (!last || last.count < 2 * smallest) return undefined;
  const half = Math.floor(last.count / 2);
  // the two topmost are overflow and "nobody" in a full 16-bit map
  return { first: last.first + half, count: last.count - half - 2 };
}
