/**
 * Runs work with these variables in this process. The library reads the operator's settings there.
 * @template T
 * @param {NodeJS.ProcessEnv} env
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withEnvironment(env, work) {
  const before = { ...process.env };
  Object.assign(process.env, env);
  try {
    return await work();
  } finally {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
    Object.assign(process.env, before);
  }
}
