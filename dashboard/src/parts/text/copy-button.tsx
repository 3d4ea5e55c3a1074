import { useState } from "preact/hooks";

/** Copies text that is made when the button is pressed. */
export function CopyButton({ label, text }: { label: string; text: () => string }) {
  const [said, setSaid] = useState("");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text());
      setSaid("Copied");
    } catch {
      setSaid("The browser refused: without https, pages may not use the clipboard");
    }
  };
  return (
    <>
      <button type="button" onClick={copy}>
        {label}
      </button>
      <span class="quiet" role="status">
        {said}
      </span>
    </>
  );
}
