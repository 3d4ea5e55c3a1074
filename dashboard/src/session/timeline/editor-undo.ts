import {
  type ChangeSet,
  type EditorSelection,
  type Extension,
  Prec,
  StateEffect,
  StateField,
  Transaction,
} from "@codemirror/state";
import { type EditorView, keymap } from "@codemirror/view";

/** How to get back: the changes, and where the cursor was. */
interface Step {
  readonly changes: ChangeSet;
  readonly selection: EditorSelection;
  readonly atMs: number;
  readonly isTyping: boolean;
}
interface Steps {
  readonly done: readonly Step[];
  readonly undone: readonly Step[];
}

const mostSteps = 200;
/** Typing within this time is one step. */
const pauseMs = 700;
const moved = StateEffect.define<Steps>();

const steps = StateField.define<Steps>({
  create: () => ({ done: [], undone: [] }),
  update(now, transaction) {
    for (const effect of transaction.effects) if (effect.is(moved)) return effect.value;
    if (!transaction.docChanged) return now;
    const step = inverse(transaction);
    const last = now.done.at(-1);
    const isSameWord = last?.isTyping && step.isTyping && step.atMs - last.atMs < pauseMs;
    if (!last || !isSameWord) return { done: [...now.done.slice(-mostSteps), step], undone: [] };
    const joined = { ...last, changes: step.changes.compose(last.changes), atMs: step.atMs };
    return { done: [...now.done.slice(0, -1), joined], undone: [] };
  },
});

/** Undo and redo. CodeMirror's own brings the parser along, which is larger than the rest of this page. */
export function undoing(): Extension {
  const keys = [
    { key: "Mod-z", run: move("done", "undone"), preventDefault: true },
    { key: "Mod-y", mac: "Mod-Shift-z", run: move("undone", "done"), preventDefault: true },
    { linux: "Ctrl-Shift-z", run: move("undone", "done"), preventDefault: true },
  ];
  return [steps, Prec.high(keymap.of(keys))];
}

function move(from: keyof Steps, to: keyof Steps) {
  return (view: EditorView): boolean => {
    const { state } = view;
    const now = state.field(steps);
    const step = now[from].at(-1);
    if (!step) return false;
    const { changes, selection } = step;
    const transaction = state.update({ changes, selection });
    const back = { ...inverse(transaction), isTyping: false };
    const next = { [from]: now[from].slice(0, -1), [to]: [...now[to], back] } as unknown as Steps;
    view.dispatch({ changes, selection, effects: moved.of(next), scrollIntoView: true });
    return true;
  };
}

function inverse(transaction: Transaction): Step {
  return {
    changes: transaction.changes.invert(transaction.startState.doc),
    selection: transaction.startState.selection,
    atMs: transaction.annotation(Transaction.time) ?? 0,
    isTyping: transaction.isUserEvent("input.type"),
  };
}
