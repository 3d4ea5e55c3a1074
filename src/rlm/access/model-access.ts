import type { Audit } from "../../audit/audit.ts";
import type { AuditEvent } from "../../audit/event.ts";
import { CodecellError } from "../../lib/errors.ts";
import { Semaphore } from "../../lib/waiting/semaphore.ts";
import { Budget } from "../../llm/budget/budget.ts";
import type { AnswerCache } from "../../llm/cache/answer-cache.ts";
import type { LmCallEvent } from "../../llm/calls/call-event.ts";
import { LmGateway } from "../../llm/calls/gateway.ts";
import type { ModelSetup } from "../../llm/clients/models-from-environment.ts";
import { assertPriced, type Prices } from "../../llm/money/prices.ts";
import type { Tape } from "../../llm/tape/tape.ts";
import { noUsage } from "../../llm/usage.ts";
import { unlimited } from "../../policy/host-calls/llm-rules.ts";
import { allowsModel } from "../../policy/host-calls/model-glob.ts";
import type { Policy } from "../../policy/schema.ts";
import { limitsFrom, lowerLimits, type RlmLimits } from "../loop/limits.ts";

/** The models that an operator has set up, and the names of the two that are used by default. */
export interface ConfiguredModels extends ModelSetup {
  readonly prices?: Prices;
}

export interface OpenModelsOptions {
  /** nothing is sent to a model, so no key is needed */
  readonly isReplay?: boolean;
}

/** Who calls a model, for the audit. */
export interface ModelCaller {
  readonly session: string;
  readonly audit: Audit | undefined;
  readonly tape?: Tape;
  readonly cache?: AnswerCache;
}

/**
 * What one client of codecell may do with models: a command, an MCP server, a tenant of the service. The caps on tokens and money
 * hold for everything that it does; the cap on calls holds for each run and each session.
 */
export class ModelAccess {
  readonly models: ConfiguredModels;
  /** tokens and money of everything that this client does */
  readonly budget: Budget;
  readonly root: string;
  readonly sub: string;
  readonly #policy: () => Policy;
  /** Sessions and sub-agents have gateways of their own. The attack: many of them, to have many times as many calls at once. */
  readonly #slots: Semaphore;

  private constructor(policy: () => Policy, models: ConfiguredModels, root: string) {
    const { tokens, usd, concurrency } = policy().llm;
    this.#policy = policy;
    this.models = models;
    this.root = root;
    this.sub = models.sub ?? root;
    this.#slots = new Semaphore(concurrency);
    this.budget = new Budget({ caps: { tokens, ...(usd === unlimited ? {} : { usd }) } });
  }

  /** Throws `model_unavailable` with the remedy if the policy, the models or the prices do not allow a single call. */
  static open(
    policy: () => Policy,
    models: ConfiguredModels,
    { isReplay = false }: OpenModelsOptions = {},
  ): ModelAccess {
    const { llm } = policy();
    if (models.root === undefined) {
      throw unavailable(
        "no model is chosen",
        "set CODECELL_MODEL in the environment of codecell, or pass --model NAME",
      );
    }
    if (llm.models.length === 0) {
      throw unavailable(
        "the policy allows no model",
        "name the models under llm.models in the policy; `codecell rlm run --model NAME` allows one for one run",
      );
    }
    const access = new ModelAccess(policy, models, models.root);
    const both = [...new Set([access.root, access.sub])];
    for (const model of both) {
      if (allowsModel(llm.models, model)) continue;
      const hint = `choose one of ${llm.models.join(", ")}, or add it to llm.models in the policy`;
      throw unavailable(`the policy does not allow the model ${model}`, hint);
    }
    if (llm.usd !== unlimited) assertPriced(both, { usd: llm.usd }, models.prices);
    if (!isReplay) for (const model of both) models.clientFor(model); // finds a missing key now
    return access;
  }

  /** The policy's limits, lowered by what the caller asks for. */
  limits(asked: Partial<RlmLimits> = {}): RlmLimits {
    const { calls, tokens, usd, depth, timeoutMs, promptChars } = this.#policy().llm;
    const operator = limitsFrom({
      ...{ maxLlmCalls: calls, maxTokens: tokens, maxUsd: usd === unlimited ? null : usd, maxDepth: depth },
      ...{ maxWallMs: timeoutMs, maxPromptChars: promptChars },
    });
    return lowerLimits(operator, asked);
  }

  /** The way to the models for one tree. Every call is an audit event. */
  gateway({ session, audit, tape, cache }: ModelCaller): LmGateway {
    const { llm } = this.#policy();
    return new LmGateway({
      ...{ models: llm.models, maxPromptChars: llm.promptChars, concurrency: llm.concurrency },
      ...{ sharedSlots: this.#slots, callTimeoutMs: llm.callTimeoutMs },
      clientFor: (model) => this.models.clientFor(model),
      ...(this.models.prices && { prices: this.models.prices }),
      ...(tape && { tape }),
      ...(cache && { cache }),
      onCall: (event) => audit?.record(auditEvent(session, event)),
    });
  }
}

/** Tokens of every kind, and never a word of the prompt or the answer. */
function auditEvent(session: string, event: LmCallEvent): AuditEvent {
  const { request, outcome, usd, source, purpose, parent, durationMs } = event;
  const { usage, status } =
    "response" in outcome
      ? { usage: outcome.response.usage, status: "ok" }
      : { usage: noUsage, status: outcome.error.code };
  return {
    ...{ type: "model.call", session, by: parent, purpose, model: request.model.slice(0, 200), status, durationMs },
    ...usage,
    ...(usd === null ? {} : { costUsd: usd }),
    ...(source === undefined ? {} : { source }),
  };
}

function unavailable(message: string, hint: string): CodecellError {
  return new CodecellError("model_unavailable", message, { hint });
}
