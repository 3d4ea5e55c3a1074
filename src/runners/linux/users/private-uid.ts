/** A range of host uids that belong to nobody, for cells started by root. */
export interface UidRange {
  readonly first: number;
  readonly count: number;
}

/** The uids of cells, if codecell runs as root. The two ranges do not overlap. */
export interface PrivateUids {
  /** one per policy, for cells that cannot have their own */
  readonly shared: UidRange;
  /** one per cell, leased in blocks */
  readonly own: UidRange;
}

// above the default ranges of distributions for users, services, subordinate uids and containers
const preferred: UidRange = { first: 1_879_048_192, count: 16_777_216 };
const sharedCount = 65_536;
const smallest = 1000;

/**
 * Pure: the uids that a root process can switch to, from the text of /proc/self/uid_map. A rootless container has only a few,
 * so the upper half of the last mapped range is used. Undefined if root is the only uid.
 */
export function privateUids(uidMap: string): PrivateUids | undefined {
  const ranges = uidMap.split("\n").flatMap((line) => {
    const [first, , count] = line.trim().split(/\s+/).map(Number);
    return first === undefined || count === undefined || Number.isNaN(first + count) ? [] : [{ first, count }];
  });
  const isMapped = ({ first, count }: UidRange) =>
    ranges.some((range) => range.first <= first && first + count <= range.first + range.count);
  if (isMapped(preferred)) return divided(preferred, sharedCount);
  const last = ranges.sort((a, b) => a.first - b.first).at(-1);
  if (!last || last.count < 2 * smallest) return undefined;
  const half = Math.floor(last.count / 2);
  // the two highest are the overflow uid and "nobody" in a full 16-bit map
  const usable = { first: last.first + half, count: last.count - half - 2 };
  return divided(usable, Math.floor(usable.count / 2));
}

function divided({ first, count }: UidRange, shared: number): PrivateUids {
  return { shared: { first, count: shared }, own: { first: first + shared, count: count - shared } };
}
