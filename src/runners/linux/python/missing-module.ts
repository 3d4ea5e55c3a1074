import type { ModuleHint } from "../../../kernel/preload-failure.ts";
import type { PythonInstallation } from "./python.ts";

/** How to get a module for an interpreter of the host. */
export function missingModuleHint({ executable }: Pick<PythonInstallation, "executable">): ModuleHint {
  const ofSystem = executable.startsWith("/usr/bin/");
  return (module) => {
    const [name = module] = module.split(".");
    const byPip = `\`${executable} -m pip install ${name}\``;
    const install = ofSystem ? `\`sudo apt install python3-${name}\` (Debian, Ubuntu), or ${byPip}` : byPip;
    return `name it in kernel.packages (codecell run --with ${name}); or install it: ${install}; or set kernel.python to an interpreter that has it, or remove it from kernel.preload`;
  };
}
