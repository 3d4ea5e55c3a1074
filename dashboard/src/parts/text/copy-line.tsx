import "./copy-line.css";
import { useState } from "preact/hooks";

/** A line to paste somewhere else, with a button that copies it. */
export function CopyLine({ label, text }: { label: string; text: string }) {
  const [state, setState] = useState<"idle" | "copied" | "refused">("idle");
  const copy = () => {
    navigator.clipboard.writeText(text).then(
      () => setState("copied"),
      () => setState("refused"), // without https, browsers keep the clipboard to themselves
    );
  };
  const said = { idle: "Copy", copied: "Copied", refused: "Select and copy" }[state];
  return (
    <div class="copy-line">
      <span class="quiet">{label}</span>
      <code>{text}</code>
      <button type="button" onClick={copy} aria-label={`${said}: ${label}`}>
        {said}
      </button>
    </div>
  );
}
