import process from "node:process";

/**
 * Removes dangerous functions from the outer realm too. Code cannot reach the outer realm. If an outer object leaks all the
 * same, it does not lead to files, processes or native code.
 */
export function lockDownOuterRealm(): void {
  // Stops code from changing the prototypes that codecell's own code uses, through a leaked object.
  if (!Object.isFrozen(Object.prototype)) throw new Error("this thread runs without --frozen-intrinsics");
  const powers = ["binding", "_linkedBinding", "dlopen", "getBuiltinModule", "kill", "_kill", "mainModule"];
  for (const name of [...powers, "chdir", "setuid", "setgid", "abort", "report", "permission"]) {
    try {
      Object.defineProperty(process, name, { value: undefined, writable: false, configurable: false });
    } catch {
      // a property that is not configurable keeps the state that the process flags gave it
    }
  }
  // Node's own code reads it, so it is emptied instead of removed.
  Object.defineProperty(process, "env", { value: Object.freeze({}), writable: false, configurable: false });
  const globals = ["fetch", "WebSocket", "EventSource", "Request", "Response", "Headers", "FormData"];
  for (const name of [...globals, "BroadcastChannel", "MessageChannel", "navigator", "require", "global"]) {
    Reflect.deleteProperty(globalThis, name);
  }
}

/**
 * Errors from the inner realm are never printed or inspected, because `util.inspect` would call functions of the attacker's
 * objects. A rejection is ignored. After an exception, this thread cannot be trusted and exits.
 */
export function ignoreWhatSurfaces(): void {
  process.removeAllListeners("warning");
  process.on("unhandledRejection", () => {});
  process.on("uncaughtException", () => process.exit(70));
}
