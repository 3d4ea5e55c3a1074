/** Wire clients for models, and the adapter for models of the AI SDK. */

export type { LmClient, LmMessage, LmRequest, LmResponse, LmStop, LmUsage } from "../llm/client.ts";
export {
  type AiSdkCall,
  type AiSdkModel,
  type AiSdkOptions,
  type AiSdkResult,
  fromAiSdk,
} from "../llm/clients/ai-sdk.ts";
export { type AnthropicOptions, anthropicClient } from "../llm/clients/anthropic.ts";
export type { HttpClientOptions } from "../llm/clients/client-options.ts";
export { type ModelRef, type ModelSetup, modelsFromEnvironment } from "../llm/clients/models-from-environment.ts";
export { type OpenAiOptions, openAiClient } from "../llm/clients/openai.ts";
/** Prices in US dollars per million tokens. */
export type { Price, Prices, Rates } from "../llm/money/prices.ts";
/** Record, replay or resume a run. */
export type { TapeChoice } from "./access/recordings.ts";
/** Limits of a run, its inputs, its progress and its result. */
export type { RlmLimits } from "./loop/limits.ts";
export type { RlmInput, RlmResult, RlmRun } from "./loop/run-rlm.ts";
/** Runs one. */
export { type RunRlmOptions, runRlm } from "./run-in-session.ts";
export type { FieldType, LiteralValue } from "./signature/field-type.ts";
/** Signatures: parsed, built, or ready to use. */
export { parseSignature } from "./signature/parse-signature.ts";
export type { Field, Signature } from "./signature/signature.ts";
/** What a run costs. */
export type { Cost } from "./trajectory/cost.ts";
/** What happens in a run, as its trajectory records it. */
export type { FinishReason, LimitKind, RlmEvent, RlmFact, RlmUsage } from "./trajectory/event.ts";
/** Reads a recorded run, and checks that nobody changed it. */
export { readTrajectory, type Trajectory } from "./trajectory/reader.ts";
