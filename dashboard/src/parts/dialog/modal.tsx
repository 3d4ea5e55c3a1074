import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import "./modal.css";

/**
 * A small window over the page. Escape closes it, and the focus goes back to where it was. `close` of the children's function
 * closes it with an answer.
 */
export function Modal<T>({
  title,
  onClose,
  children,
}: {
  title: string;
  /** `answer` is undefined after Escape */
  onClose: (answer: T | undefined) => void;
  children: (close: (answer?: T) => void) => ComponentChildren;
}) {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  const answer = useRef<T>(undefined);
  useEffect(() => dialog.current?.showModal(), []);
  const close = (given?: T) => {
    answer.current = given;
    dialog.current?.close(); // gives the focus back, then the event below follows
  };
  return (
    <dialog ref={dialog} class="modal" aria-labelledby={id} onClose={() => onClose(answer.current)}>
      <h2 id={id}>{title}</h2>
      {children(close)}
    </dialog>
  );
}
