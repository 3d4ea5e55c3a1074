import { setMaxListeners } from "node:events";

/**
 * A controller whose signal many calls wait for at once. Node takes more than ten listeners for a leak and warns. Each call must
 * remove its listener when it ends.
 */
export function sharedAbort(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}
