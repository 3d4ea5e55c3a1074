import type { ModelAccess } from "../../rlm/access/model-access.ts";
import { SessionModels } from "../../rlm/access/session-models.ts";
import type { Session } from "../../sessions/session.ts";
import type { Sessions } from "../tenants/tenant-sessions.ts";
import type { ModelSource } from "./model-source.ts";
import { SubAgents, type TrajectoryPlace } from "./sub-agents.ts";

/** Models for one sandbox: functions for the code of its sessions, and its sub-agents. One budget covers all of them. */
export class SandboxModels implements AsyncDisposable {
  readonly subAgents: SubAgents;
  readonly #access: () => Promise<ModelAccess>;
  #opening: Promise<ModelAccess> | undefined;
  #functions: SessionModels | undefined;

  constructor(source: ModelSource, sessions: Sessions, trajectories: TrajectoryPlace | undefined) {
    this.#access = () => {
      // A failure is not kept: the operator can add a key without a restart.
      this.#opening ??= source
        .open(() => sessions.policy)
        .catch((error: unknown) => {
          this.#opening = undefined;
          throw error;
        });
      return this.#opening;
    };
    const newSession = () => sessions.session();
    this.subAgents = new SubAgents({ access: this.#access, newSession, trajectories });
  }

  /** Gives the code of a session the functions that call models. Without a model, code runs without them. */
  async prepare(session: Session): Promise<void> {
    if (session.policy.llm.models.length === 0) return;
    const access = await this.#access().catch(() => undefined);
    if (!access) return;
    this.#functions ??= new SessionModels(access);
    await this.#functions.prepare(session);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.subAgents[Symbol.asyncDispose]();
  }
}
