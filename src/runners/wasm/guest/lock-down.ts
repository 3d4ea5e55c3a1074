import process from "node:process";

/**
 * Takes powers from the outer realm as well. Nothing of it is reachable from the inner one; should an outer object leak
 * all the same, the ways from it to files, processes and native code are gone.
 */
export function lockDownOuterRealm(): void {
  // A leaked object must not be a way to change what our own code calls.
  if (!Object.isFrozen(Object.prototype)) throw new Error("this thread runs without --frozen-intrinsics");
  const powers = ["binding", "_linkedBinding", "dlopen", "getBuiltinModule", "kill", "_kill", "mainModule"];
  for (const name of [...powers, "chdir", "setuid", "setgid", "abort", "report", "permission"]) {
    try {
      Object.defineProperty(process, name, { value: undefined, writable: false, configurable: false });
    } catch {
      // a property that is not configurable stays as the process flags left it
    }
  }
  // Node's own code reads it, so it is emptied and not removed.
  Object.defineProperty(process, "env", { value: Object.freeze({}), writable: false, configurable: false });
  const globals = ["fetch", "WebSocket", "EventSource", "Request", "Response", "Headers", "FormData"];
  for (const name of [...globals, "BroadcastChannel", "MessageChannel", "navigator", "require", "global"]) {
    Reflect.deleteProperty(globalThis, name);
  }
}

/**
 * What surfaces from the inner realm is never printed or inspected: `util.inspect` would call back into objects that
 * the attacker made. A rejection is dropped; an exception means that this thread cannot be trusted to go on.
 */
export function ignoreWhatSurfaces(): void {
  process.removeAllListeners("warning");
  process.on("unhandledRejection", () => {});
  process.on("uncaughtException", () => process.exit(70));
}
