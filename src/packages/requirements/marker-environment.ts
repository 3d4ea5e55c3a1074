import type { PackageTarget } from "../package-target.ts";
import type { MarkerEnvironment } from "./marker.ts";

/** What the conditions of requirements see: the cell's Python, never the host's. */
export function markerEnvironment({ python, fullPython, platform }: PackageTarget): MarkerEnvironment {
  const full = fullPython ?? `${python}.0`;
  const isLinux = platform.startsWith("linux_");
  return {
    os_name: "posix",
    sys_platform: isLinux ? "linux" : "emscripten",
    platform_machine: isLinux ? platform.slice("linux_".length) : "wasm32",
    platform_system: isLinux ? "Linux" : "Emscripten",
    platform_python_implementation: "CPython",
    implementation_name: "cpython",
    implementation_version: full,
    python_version: python,
    python_full_version: full,
    // not known before the cell starts
    platform_release: "",
    platform_version: "",
  };
}
