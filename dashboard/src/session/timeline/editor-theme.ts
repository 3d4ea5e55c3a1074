import { EditorView } from "@codemirror/view";

const kinds = ["keyword", "atom", "string", "number", "comment", "definition", "decorator"];
const colours = Object.fromEntries(kinds.map((kind) => [`.tok-${kind}`, { color: `var(--tok-${kind})` }]));

/** The look of the editor: the colours of the page, whose variables reach into the shadow root. */
export const editorTheme = EditorView.theme({
  "&": { backgroundColor: "var(--surface)", color: "var(--text)", borderRadius: "6px" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "1px" },
  ".cm-scroller": {
    fontFamily: "var(--mono)",
    fontSize: "13px",
    lineHeight: "1.5",
    maxHeight: "30vh",
    overflow: "auto",
  },
  ".cm-content": { caretColor: "var(--text)", minHeight: "44px", padding: "8px 0" },
  ".cm-line": { padding: "0 10px" },
  ".cm-placeholder": { color: "var(--quiet)" },
  ".cm-tooltip": {
    border: "1px solid var(--line)",
    borderRadius: "6px",
    backgroundColor: "var(--surface)",
    color: "var(--text)",
    zIndex: "10",
  },
  ".completions": {
    margin: "0",
    padding: "4px",
    listStyle: "none",
    maxHeight: "220px",
    overflowY: "auto",
    fontFamily: "var(--mono)",
    fontSize: "13px",
  },
  ".completions li": { padding: "1px 8px", borderRadius: "4px", cursor: "pointer", whiteSpace: "nowrap" },
  ".completions li[aria-selected=true]": { backgroundColor: "var(--accent)", color: "var(--accent-text)" },
  ".completions small": { marginLeft: "16px", opacity: "0.85", fontFamily: "var(--sans)" },
  ...colours,
  ".tok-variable": { color: "var(--tok-decorator)" },
  ".tok-comment": { color: "var(--tok-comment)", fontStyle: "italic" },
});
