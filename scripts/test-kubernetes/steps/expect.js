/**
 * Fails the step unless it holds.
 * @param {unknown} holds
 * @param {string} claim
 * @param {unknown} [found] shown when it does not
 */
export function expect(holds, claim, found) {
  if (holds) return;
  const shown = found === undefined ? "" : `: ${found instanceof Error ? describe(found) : JSON.stringify(found)}`;
  throw new Error(`not so: ${claim}${shown.slice(0, 1500)}`);
}

/** What a promise is rejected with. */
export async function failure(promise) {
  try {
    const value = await promise;
    throw new Error(`it did not fail: ${JSON.stringify(value)?.slice(0, 500)}`);
  } catch (error) {
    return error;
  }
}

function describe(error) {
  return `${error.code ?? error.name}: ${error.message}${error.hint ? ` (${error.hint})` : ""}`;
}
