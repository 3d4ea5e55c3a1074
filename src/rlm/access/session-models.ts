import type { Session } from "../../sessions/session.ts";
import { runAgent } from "../loop/agent.ts";
import { AgentBudget } from "../loop/agent-budget.ts";
import { agentFunctions } from "../loop/agent-functions.ts";
import { AgentState } from "../loop/agent-state.ts";
import type { CellFunction } from "../loop/cell.ts";
import { sessionCell } from "../loop/session-cell.ts";
import { Tree } from "../loop/tree.ts";
import { parseSignature } from "../signature/parse-signature.ts";
import type { ModelAccess } from "./model-access.ts";

/** A session's own code is never asked for outputs, so this signature is not shown to anybody. */
const unused = parseSignature("code -> nothing");

/** Gives the code of sessions the functions that call models: `llm_query` and its kin, without a key in the cell. */
export class SessionModels {
  readonly #access: ModelAccess;
  readonly #exposed = new WeakSet<Session["managed"]>();

  constructor(access: ModelAccess) {
    this.#access = access;
  }

  /** Called before each run. A session keeps its functions and what is left of its budget while it is open. */
  async prepare(session: Session): Promise<void> {
    if (this.#exposed.has(session.managed)) return;
    this.#exposed.add(session.managed);
    await sessionCell(session).expose(this.#functions(session));
  }

  #functions(session: Session): Readonly<Record<string, CellFunction>> {
    const access = this.#access;
    const limits = access.limits();
    const tree = new Tree({
      ...{ rootModel: access.root, subModel: access.sub, now: Date.now },
      // A session has no end of its own. Each call of its code may take as long as a sub-agent, and is cancelled then.
      get deadlineMs() {
        return Date.now() + limits.maxWallMs;
      },
      models: access.gateway({ session: session.key, audit: session.managed.audit?.audit }),
      signal: new AbortController().signal, // a call ends with its run
      ...(access.models.prices && { prices: access.models.prices }),
      onEvent: () => {},
    });
    const budget = AgentBudget.forRoot(limits, access.budget);
    const agent = new AgentState({ id: session.id, depth: 0, signature: unused, limits, budget, tree });
    const { SUBMIT: _nothingToSubmit, ...functions } = agentFunctions(agent, runAgent);
    return functions;
  }
}
