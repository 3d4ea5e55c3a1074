import { Compartment, EditorState, RangeSetBuilder } from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  EditorView,
  keymap,
  placeholder,
  ViewPlugin,
  type ViewUpdate,
} from "@codemirror/view";
import { highlight } from "../../parts/text/highlight.ts";
import { type CompletionSource, completion } from "./editor-completion.ts";
import { editorTheme } from "./editor-theme.ts";
import { undoing } from "./editor-undo.ts";

export interface EditorOptions {
  /** The styles of the editor become style sheets of this root: the page's policy allows no `<style>` element. */
  readonly root: ShadowRoot;
  readonly text: string;
  readonly language: string;
  readonly label: string;
  readonly complete: CompletionSource;
  onRun(): void;
  onLeave(): void;
  onChange(text: string): void;
  /** An earlier (-1) or later (+1) entry of the history; undefined: there is none. */
  recall(step: -1 | 1, text: string): string | undefined;
}

export interface Editor {
  readonly text: string;
  set(text: string): void;
  focus(): void;
  setLanguage(language: string): void;
  destroy(): void;
}

const indent = "    ";

export function createEditor(options: EditorOptions): Editor {
  const { root } = options;
  const language = new Compartment();
  const place = document.createElement("div");
  root.append(place);
  const recall = (step: -1 | 1) => (view: EditorView) => {
    if (view.state.doc.lines > 1) return false;
    const text = options.recall(step, view.state.doc.toString());
    if (text === undefined) return false;
    replaceAll(view, text);
    return true;
  };
  const run = () => {
    options.onRun();
    return true;
  };
  const keys = [
    { key: "Shift-Enter", run },
    { key: "Mod-Enter", run },
    { key: "Ctrl-Enter", run },
    { key: "Enter", run: newLine },
    { key: "ArrowUp", run: recall(-1) },
    { key: "ArrowDown", run: recall(1) },
    { key: "Tab", run: indentLine },
    {
      key: "Escape",
      run: () => {
        options.onLeave();
        return true;
      },
    },
  ];
  const view = new EditorView({
    root,
    parent: place,
    state: EditorState.create({
      doc: options.text,
      extensions: [
        ...[undoing(), completion(options.complete), keymap.of(keys)],
        ...[EditorView.lineWrapping, placeholder("Code to run in this session"), editorTheme],
        language.of(colours(options.language)),
        EditorView.contentAttributes.of({ "aria-label": options.label, spellcheck: "false", autocapitalize: "off" }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) options.onChange(update.state.doc.toString());
        }),
      ],
    }),
  });
  return {
    get text() {
      return view.state.doc.toString();
    },
    set: (text) => replaceAll(view, text),
    focus: () => view.focus(),
    setLanguage: (name) => view.dispatch({ effects: language.reconfigure(colours(name)) }),
    destroy: () => {
      view.destroy();
      place.remove();
    },
  };
}

function replaceAll(view: EditorView, text: string): void {
  const changes = { from: 0, to: view.state.doc.length, insert: text };
  view.dispatch({ changes, selection: { anchor: text.length }, scrollIntoView: true });
}

/** A new line as deep as the one before, and deeper after a colon. */
function newLine(view: EditorView): boolean {
  const { state } = view;
  const { from } = state.selection.main;
  const before = state.doc.lineAt(from).text.slice(0, from - state.doc.lineAt(from).from);
  const depth = /^[ \t]*/.exec(before)?.[0] ?? "";
  const insert = `\n${depth}${/:\s*(?:#.*)?$/.test(before) ? indent : ""}`;
  view.dispatch(state.replaceSelection(insert), { scrollIntoView: true, userEvent: "input" });
  return true;
}

/** Tab indents at the beginning of a line. Anywhere else, and in an empty editor, it leaves the editor as everywhere on the page. */
function indentLine(view: EditorView): boolean {
  const { state } = view;
  const { from, empty } = state.selection.main;
  const line = state.doc.lineAt(from);
  if (!empty || state.doc.length === 0 || line.text.slice(0, from - line.from).trim() !== "") return false;
  view.dispatch(state.replaceSelection(indent), { userEvent: "input" });
  return true;
}

function colours(language: string) {
  const decorate = (view: EditorView): DecorationSet => {
    const builder = new RangeSetBuilder<Decoration>();
    for (const { from, to, kind } of highlight(view.state.doc.toString(), language)) {
      builder.add(from, to, Decoration.mark({ class: `tok-${kind}` }));
    }
    return builder.finish();
  };
  return ViewPlugin.fromClass(
    class {
      decorations: DecorationSet;
      constructor(view: EditorView) {
        this.decorations = decorate(view);
      }
      update(update: ViewUpdate) {
        if (update.docChanged) this.decorations = decorate(update.view);
      }
    },
    { decorations: (plugin) => plugin.decorations },
  );
}
