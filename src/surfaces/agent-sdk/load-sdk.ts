import { CodecellError } from "../../lib/errors.ts";

/** The Agent SDK, as its module exports it. */
export type AgentSdk = typeof import("@anthropic-ai/claude-agent-sdk");

const sdkName = "@anthropic-ai/claude-agent-sdk";
const installHint = `npm install ${sdkName}@^0.3.325`;

/** Loads the optional peer dependency. */
export async function loadAgentSdk(
  load: () => Promise<AgentSdk> = () => import("@anthropic-ai/claude-agent-sdk"),
): Promise<AgentSdk> {
  let sdk: AgentSdk;
  try {
    sdk = await load();
  } catch (cause) {
    const isMissing = ["ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND"].includes(
      (cause as NodeJS.ErrnoException).code ?? "",
    );
    const message = isMissing ? `${sdkName} is not installed` : `${sdkName} cannot be loaded`;
    throw new CodecellError("usage", message, { hint: installHint, cause });
  }
  // Hooks fail closed (`onFailure`) since 0.3.295. This name is exported a little longer; no export tells the version.
  if (sdk.BUILTIN_TOOL_NAMES === undefined) {
    throw new CodecellError("usage", `${sdkName} is too old: its hooks cannot fail closed`, { hint: installHint });
  }
  return sdk;
}
