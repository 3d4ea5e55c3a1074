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
