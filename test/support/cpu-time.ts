/**
 * Milliseconds of processor time that this process spent on something: what work costs, however much else the machine does.
 * Test files have a process each, so nothing else is in it.
 */
export async function cpuMsOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
