import { type Extension, Prec, StateEffect, StateField } from "@codemirror/state";
import { EditorView, keymap, showTooltip, type Tooltip } from "@codemirror/view";
import { shownName } from "../../parts/text/shown-name.ts";

export interface Completions {
  readonly matches: readonly { readonly text: string; readonly kind: string }[];
  readonly start: number;
  readonly end: number;
}

/** What the code before the cursor can be completed with. */
export type CompletionSource = (code: string, cursor: number) => Promise<Completions | undefined>;

interface Offer extends Completions {
  readonly selected: number;
}

const mostOffers = 100;
const setOffer = StateEffect.define<Offer | undefined>();
const listId = "completions";

const offerField = StateField.define<Offer | undefined>({
  create: () => undefined,
  update(offer, transaction) {
    for (const effect of transaction.effects) if (effect.is(setOffer)) return effect.value;
    return transaction.docChanged || transaction.selection ? undefined : offer;
  },
  provide: (field) => [
    showTooltip.from(field, (offer) => (offer ? tooltip(offer) : null)),
    EditorView.contentAttributes.compute([field], (state): Record<string, string> => {
      const offer = state.field(field);
      if (!offer) return { "aria-autocomplete": "list" };
      return {
        "aria-autocomplete": "list",
        "aria-controls": listId,
        "aria-activedescendant": `${listId}-${offer.selected}`,
      };
    }),
  ],
});

/** A list of completions under the cursor: Tab or Ctrl+Space opens it, a dot does too, and Escape closes it. */
export function completion(source: CompletionSource): Extension {
  let asked = 0;
  const ask = async (view: EditorView, isExplicit: boolean): Promise<void> => {
    const mine = ++asked;
    const { state } = view;
    const found = await source(state.doc.toString(), state.selection.main.head);
    if (mine !== asked || view.state.doc !== state.doc || !found) return;
    const [only, second] = found.matches;
    if (!only) return;
    if (isExplicit && !second) accept(view, found, only.text);
    else
      view.dispatch({ effects: setOffer.of({ ...found, matches: found.matches.slice(0, mostOffers), selected: 0 }) });
  };
  const withOffer = (act: (view: EditorView, offer: Offer) => void) => (view: EditorView) => {
    const offer = view.state.field(offerField);
    if (offer) act(view, offer);
    return offer !== undefined;
  };
  const move = (step: number) =>
    withOffer((view, offer) => {
      const selected = (offer.selected + step + offer.matches.length) % offer.matches.length;
      view.dispatch({ effects: setOffer.of({ ...offer, selected }) });
    });
  const take = withOffer((view, offer) => accept(view, offer, offer.matches[offer.selected]?.text ?? ""));
  const open = (view: EditorView) => {
    void ask(view, true);
    return true;
  };
  const keys = [
    { key: "ArrowDown", run: move(1) },
    { key: "ArrowUp", run: move(-1) },
    { key: "Enter", run: take },
    { key: "Tab", run: (view: EditorView) => take(view) || (isAfterName(view) && open(view)) },
    { key: "Ctrl-Space", run: open },
    { key: "Escape", run: withOffer((view) => view.dispatch({ effects: setOffer.of(undefined) })) },
  ];
  return [
    offerField,
    Prec.highest(keymap.of(keys)),
    EditorView.updateListener.of(({ view, docChanged, transactions }) => {
      if (!docChanged || !transactions.some((one) => one.isUserEvent("input.type"))) return;
      const { head } = view.state.selection.main;
      if (view.state.sliceDoc(head - 1, head) === ".") void ask(view, false);
    }),
  ];
}

function isAfterName(view: EditorView): boolean {
  const { head, empty } = view.state.selection.main;
  return empty && /[\p{ID_Continue}.]/u.test(view.state.sliceDoc(head - 1, head));
}

function accept(view: EditorView, { start, end }: Completions, text: string): void {
  const { length } = view.state.doc;
  if (start < 0 || start > end || end > length) return; // it comes from the cell
  const changes = { from: start, to: end, insert: text };
  view.dispatch({ changes, selection: { anchor: start + text.length }, userEvent: "input.complete" });
}

function tooltip(offer: Offer): Tooltip {
  return {
    pos: offer.start,
    above: true,
    create(view) {
      const dom = document.createElement("ul");
      dom.id = listId;
      dom.className = "completions";
      dom.role = "listbox";
      dom.ariaLabel = "Completions";
      offer.matches.forEach(({ text, kind }, index) => {
        const item = document.createElement("li");
        item.id = `${listId}-${index}`;
        item.role = "option";
        item.ariaSelected = String(index === offer.selected);
        const small = document.createElement("small");
        small.textContent = kind;
        item.append(shownName(text, 80), small);
        item.onmousedown = (event) => {
          event.preventDefault(); // the editor keeps the focus
          accept(view, offer, text);
        };
        dom.append(item);
      });
      return { dom, mount: () => dom.children[offer.selected]?.scrollIntoView({ block: "nearest" }) };
    },
  };
}
