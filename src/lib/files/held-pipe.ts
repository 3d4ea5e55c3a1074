import { execFile } from "node:child_process";
import { close, constants, open } from "node:fs";
import { basename, dirname } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
// descriptors, not file handles, which are closed when they are garbage-collected
const openFile = promisify(open);
const closeFile = promisify(close);

/** A named pipe that this process holds open for reading, which other processes can check until we exit. */
export async function holdPipe(path: string): Promise<() => Promise<void>> {
  // The path may begin with a descriptor of this process (`/proc/self/fd/24`). A child has it until it starts its program.
  await run("mkfifo", ["-m", "600", basename(path)], { cwd: dirname(path), env: { PATH: "/usr/bin:/bin" } });
  const descriptor = await openFile(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return () => closeFile(descriptor);
}

/** Whether a running process holds the pipe: without a reader it cannot be opened for writing. */
export async function isPipeHeld(path: string): Promise<boolean> {
  try {
    await closeFile(await openFile(path, constants.O_WRONLY | constants.O_NONBLOCK));
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code !== "ENXIO" && code !== "ENOENT";
  }
}
