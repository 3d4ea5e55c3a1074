import { CodecellError, messageOf } from "../errors.ts";

/** The result of `work`, unless the signal is aborted first. The work is not stopped: that is up to the caller. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined, givenUp: string): Promise<T> {
  if (!signal) return work;
  let leave = () => {};
  const left = new Promise<never>((_, reject) => {
    leave = () => {
      const { reason } = signal;
      reject(new CodecellError("aborted", `${givenUp}: ${messageOf(reason)}`, { cause: reason }));
    };
  });
  if (signal.aborted) leave();
  else signal.addEventListener("abort", leave, { once: true });
  try {
    return await Promise.race([left, work]);
  } finally {
    signal.removeEventListener("abort", leave);
  }
}
