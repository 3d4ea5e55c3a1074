import { aborted } from "../../lib/waiting/aborted.ts";
import {
  type Amount,
  type AmountKind,
  addUnits,
  amountKinds,
  amountOf,
  type Caps,
  capUnits,
  partialAmountOf,
  type Units,
  unitsOf,
  zeroUnits,
} from "./amounts.ts";
import { type Overrun, overrunError, type Shortage, shortageError } from "./shortage.ts";

/** An amount that is set aside for a call before the call is sent. Exactly one of its methods takes effect, once. */
export interface Hold {
  readonly amount: Amount;
  /** Replaces the hold by what was really charged. */
  settle(charged: Amount): void;
  /** Gives everything back: nothing was charged. */
  release(): void;
}

export interface BudgetOptions {
  readonly caps: Caps;
  /** Kept for calls that are `final`: the last turn and the extraction of an answer. A part of the caps, not an addition. */
  readonly finalReserve?: Caps;
}

export interface ReserveOptions {
  /** The call may use this budget's `finalReserve`, though not that of its parents. */
  readonly isFinal?: boolean;
}

export interface BudgetSnapshot {
  readonly spent: Amount;
  readonly held: Amount;
  readonly caps: Caps;
  /** what a call that is not final may still hold, in this budget and its parents; a kind without a cap is absent */
  readonly left: Caps;
  /** The first call that was charged more than its hold. No call is possible after it. */
  readonly overrun?: Overrun;
}

/**
 * A pre-paid budget for model calls, shared by a tree of agents. A call holds its worst case before it is sent and settles what it
 * really cost afterwards, so calls that run at the same time cannot exceed a cap together: spent + held <= cap, in this budget
 * and in all its parents. The only exception is a provider that charges more than the worst case. That is recorded, and no
 * further call is allowed in the whole tree.
 */
export class Budget {
  readonly #parent: Budget | undefined;
  readonly #caps: Partial<Units>;
  readonly #reserve: Units;
  readonly #waiting = new Set<() => void>();
  #spent = zeroUnits();
  #held = zeroUnits();
  /** what final calls have spent and hold: their part of the reserve is no longer kept */
  #finalUse = zeroUnits();
  #overrun: Overrun | undefined;

  constructor({ caps, finalReserve = {} }: BudgetOptions, parent?: Budget) {
    this.#caps = capUnits(caps);
    this.#reserve = unitsOf(finalReserve);
    this.#parent = parent;
  }

  /** The budget of the whole tree. */
  get root(): Budget {
    return this.#parent?.root ?? this;
  }

  /** A narrower budget. What it spends is also charged to this one. */
  child(options: BudgetOptions): Budget {
    return new Budget(options, this);
  }

  /** Sets an amount aside, or throws `budget_exhausted`. */
  reserve(amount: Amount, options: ReserveOptions = {}): Hold {
    const units = unitsOf(amount);
    const [shortage] = this.#shortages(units, options);
    if (shortage) throw shortageError(shortage);
    return this.#hold(units, options);
  }

  /** Sets all amounts aside, or none of them. */
  reserveAll(amounts: readonly Amount[], options: ReserveOptions = {}): Hold[] {
    const each = amounts.map(unitsOf);
    const [shortage] = this.#shortages(each.reduce(addUnits, zeroUnits()), options);
    if (shortage) throw shortageError(shortage);
    return each.map((units) => this.#hold(units, options));
  }

  /**
   * Like `reserve`, but waits while tokens or money are only held by other calls: most of them cost less than their worst case. It
   * throws `budget_exhausted` once the amount would not fit although nothing were held. A held call is as good as spent, so
   * nobody waits for calls.
   */
  async reserveWhenFree(amount: Amount, options: ReserveOptions & { readonly signal: AbortSignal }): Promise<Hold> {
    const { signal } = options;
    const units = unitsOf(amount);
    for (;;) {
      if (signal.aborted) throw aborted(signal);
      const shortages = this.#shortages(units, options);
      if (shortages.length === 0) return this.#hold(units, options);
      const final = shortages.find(({ isTemporary }) => !isTemporary);
      if (final) throw shortageError(final);
      await this.root.#change(signal);
    }
  }

  /** Records what was spent without a hold: by the calls of an interrupted run that is resumed. */
  charge(amount: Amount): void {
    const units = unitsOf(amount);
    for (const budget of this.#chain()) budget.#spent = addUnits(budget.#spent, units);
  }

  snapshot(): BudgetSnapshot {
    const overrun = this.root.#overrun;
    return {
      spent: amountOf(this.#spent),
      held: amountOf(this.#held),
      caps: partialAmountOf(this.#caps),
      left: this.#left(),
      ...(overrun && { overrun }),
    };
  }

  #left(): Caps {
    const left: Partial<Units> = {};
    for (const budget of this.#chain()) {
      for (const kind of amountKinds) {
        const cap = budget.#caps[kind];
        if (cap === undefined) continue;
        const free = Math.max(0, cap - budget.#spent[kind] - budget.#held[kind] - budget.#kept(kind, false));
        left[kind] = Math.min(left[kind] ?? free, free);
      }
    }
    return partialAmountOf(left);
  }

  /** Which caps, of this budget and its parents, the amount does not fit under. */
  #shortages(units: Units, { isFinal = false }: ReserveOptions): Shortage[] {
    const overrun = this.root.#overrun;
    if (overrun) throw overrunError(overrun);
    return this.#chain().flatMap((budget) =>
      amountKinds.flatMap((kind) => {
        // only its own reserve: the parent keeps one for its own last turn
        const kept = budget.#kept(kind, isFinal && budget === this);
        const [cap, spent, held, need] = [budget.#caps[kind], budget.#spent[kind], budget.#held[kind], units[kind]];
        if (cap === undefined || need === 0 || spent + held + kept + need <= cap) return [];
        const isTemporary = kind !== "calls" && held > 0 && spent + kept + need <= cap;
        return [{ kind, cap, spent, held, kept, need, isTemporary, isOwn: budget === this }];
      }),
    );
  }

  #kept(kind: AmountKind, isFinal: boolean): number {
    return isFinal ? 0 : Math.max(0, this.#reserve[kind] - this.#finalUse[kind]);
  }

  #hold(units: Units, { isFinal = false }: ReserveOptions): Hold {
    this.#move(units, "held", isFinal);
    let isOpen = true;
    const end = (charged: Units) => {
      if (!isOpen) return;
      isOpen = false;
      this.#move({ calls: -units.calls, tokens: -units.tokens, usd: -units.usd }, "held", isFinal);
      this.#move(charged, "spent", isFinal);
      this.#noteOverrun(units, charged);
      for (const wake of [...this.root.#waiting]) wake();
    };
    return {
      amount: amountOf(units),
      settle: (charged) => end(unitsOf(charged)),
      release: () => end(zeroUnits()),
    };
  }

  #move(units: Units, to: "held" | "spent", isFinal: boolean): void {
    for (const budget of this.#chain()) {
      if (to === "held") budget.#held = addUnits(budget.#held, units);
      else budget.#spent = addUnits(budget.#spent, units);
    }
    if (isFinal) this.#finalUse = addUnits(this.#finalUse, units);
  }

  #noteOverrun(held: Units, charged: Units): void {
    const root = this.root;
    for (const kind of amountKinds) {
      const isCapped = this.#chain().some((budget) => budget.#caps[kind] !== undefined);
      if (isCapped && charged[kind] > held[kind])
        root.#overrun ??= { kind, held: amountOf(held)[kind], charged: amountOf(charged)[kind] };
    }
  }

  /** Resolves when a hold ends. */
  async #change(signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve) => {
      const wake = () => {
        this.#waiting.delete(wake);
        signal.removeEventListener("abort", wake);
        resolve();
      };
      this.#waiting.add(wake);
      signal.addEventListener("abort", wake, { once: true });
    });
  }

  #chain(): Budget[] {
    return this.#parent ? [this, ...this.#parent.#chain()] : [this];
  }
}
