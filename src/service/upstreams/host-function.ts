/** A JSON Schema as an object; what it describes is not checked here. */
export type JsonSchemaObject = Readonly<Record<string, unknown>>;

/** The session and run that call a function of the host. */
export interface HostCallContext {
  readonly signal: AbortSignal;
  readonly sessionId: string;
  readonly runId: string;
  readonly callId: number;
}

/** A function of the host, as `session.expose` takes it. */
export interface HostFunction {
  readonly description: string;
  readonly input: JsonSchemaObject;
  readonly timeoutMs?: number;
  call(input: Readonly<Record<string, unknown>>, context: HostCallContext): Promise<unknown>;
}
