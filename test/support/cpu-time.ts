/**
 * CPU time in milliseconds that this process spends on some work, independent of other load on the machine. Each test file has
 * its own process, so no other work is included.
 */
export async function cpuMsOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** The least of three times, for bounds of milliseconds: one of them may include the work of the garbage collector. */
export async function leastCpuMsOf(work: () => unknown): Promise<number> {
  const times = [await cpuMsOf(work), await cpuMsOf(work), await cpuMsOf(work)];
  return Math.min(...times);
}
