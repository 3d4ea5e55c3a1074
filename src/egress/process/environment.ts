/** Where the cell's programs reach the proxy: the kernel listens on the cell's own loopback. */
const proxyUrl = "http://127.0.0.1:3128";
const local = "localhost,127.0.0.1,::1";

/**
 * Variables that make ordinary clients use the proxy. All spellings: curl ignores HTTP_PROXY in upper case, urllib ignores
 * ALL_PROXY. A client that ignores them all has no network.
 */
export const egressEnvironment: Readonly<Record<string, string>> = {
  http_proxy: proxyUrl,
  https_proxy: proxyUrl,
  all_proxy: proxyUrl,
  HTTP_PROXY: proxyUrl,
  HTTPS_PROXY: proxyUrl,
  ALL_PROXY: proxyUrl,
  no_proxy: local,
  NO_PROXY: local,
  NODE_USE_ENV_PROXY: "1",
  PIP_RETRIES: "1", // five retries turn one refusal into eight seconds
  PIP_DISABLE_PIP_VERSION_CHECK: "1",
  npm_config_update_notifier: "false", // every new cell would check for updates of npm again
};
