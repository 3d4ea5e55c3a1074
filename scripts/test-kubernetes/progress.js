const beatMs = 10_000;

/**
 * Runs one piece of work, and says on standard error what is going on, every ten seconds that it still is, and how long it took.
 * @template T
 * @param {string} title
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withProgress(title, work) {
  const began = performance.now();
  const seconds = () => ((performance.now() - began) / 1000).toFixed(1);
  console.error(`${title} …`);
  const beat = setInterval(() => console.error(`${title} … ${seconds()} s`), beatMs);
  try {
    const result = await work();
    console.error(`${title}: ${seconds()} s`);
    return result;
  } catch (error) {
    console.error(`${title}: failed after ${seconds()} s`);
    throw error;
  } finally {
    clearInterval(beat);
  }
}
