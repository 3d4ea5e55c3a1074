type PlainObject = Readonly<Record<string, unknown>>;

/** A message of JSON-RPC with nothing unusual in it. */
export interface PlainMessage {
  readonly id?: string | number;
  readonly method: string;
  readonly params?: PlainObject;
}

export interface PlainInitialize extends PlainMessage {
  readonly params: { readonly protocolVersion: string };
}

export function isPlainMessage(value: unknown): value is PlainMessage {
  if (!isObject(value) || !hasOnly(value, ["jsonrpc", "id", "method", "params"])) return false;
  const { jsonrpc, id, method, params } = value;
  const hasPlainId = !("id" in value) || typeof id === "string" || Number.isSafeInteger(id);
  return jsonrpc === "2.0" && hasPlainId && typeof method === "string" && (!("params" in value) || isObject(params));
}

/** An `initialize` that the MCP SDK surely accepts: a version that it knows, and capabilities of the usual shape. */
export function isPlainInitialize(message: PlainMessage, versions: readonly string[]): message is PlainInitialize {
  const { id, method, params } = message;
  if (method !== "initialize" || id === undefined || params === undefined) return false;
  const { protocolVersion, capabilities, clientInfo } = params;
  return (
    hasOnly(params, ["protocolVersion", "capabilities", "clientInfo"]) &&
    typeof protocolVersion === "string" &&
    versions.includes(protocolVersion) &&
    isObject(clientInfo) &&
    ["name", "version"].every((key) => typeof clientInfo[key] === "string") &&
    (!("title" in clientInfo) || typeof clientInfo.title === "string") &&
    hasOnly(clientInfo, ["name", "version", "title"]) &&
    isObject(capabilities) &&
    hasOnly(capabilities, ["roots", "sampling", "elicitation"]) &&
    Object.entries(capabilities).every(([name, one]) => isObject(one) && (isEmpty(one) || isRoots(name, one)))
  );
}

function isRoots(name: string, capability: PlainObject): boolean {
  return name === "roots" && hasOnly(capability, ["listChanged"]) && typeof capability.listChanged === "boolean";
}

function isEmpty(value: PlainObject): boolean {
  return Object.keys(value).length === 0;
}

function hasOnly(value: PlainObject, names: readonly string[]): boolean {
  return Object.keys(value).every((key) => names.includes(key));
}

function isObject(value: unknown): value is PlainObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
