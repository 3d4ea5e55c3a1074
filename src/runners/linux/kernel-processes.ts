/** The supervisor, the parked copy and the intermediate process of a fork do not count against `proc.pids`. */
export const kernelProcesses = 3;
