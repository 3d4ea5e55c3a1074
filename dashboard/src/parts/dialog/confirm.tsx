import type { ComponentChildren } from "preact";
import { useCallback, useState } from "preact/hooks";
import { Modal } from "./modal.tsx";

/** What is asked before something is lost. */
export interface Question {
  readonly title: string;
  /** what will be lost and what stays */
  readonly body: ComponentChildren;
  /** the text of the button that does it, such as `Delete` */
  readonly action: string;
  readonly isDangerous?: boolean;
}

/** `const [confirm, dialog] = useConfirm()`: render `dialog` somewhere, and `await confirm(question)`. */
export function useConfirm(): [(question: Question) => Promise<boolean>, ComponentChildren] {
  const [asked, setAsked] = useState<{ question: Question; answer: (isYes: boolean) => void }>();
  const confirm = useCallback(
    (question: Question) => new Promise<boolean>((answer) => setAsked({ question, answer })),
    [],
  );
  const dialog = asked ? (
    <ConfirmDialog
      question={asked.question}
      onAnswer={(isYes) => {
        setAsked(undefined);
        asked.answer(isYes);
      }}
    />
  ) : null;
  return [confirm, dialog];
}

function ConfirmDialog({ question, onAnswer }: { question: Question; onAnswer: (isYes: boolean) => void }) {
  const { title, body, action, isDangerous = true } = question;
  return (
    <Modal<boolean> title={title} onClose={(answer) => onAnswer(answer === true)}>
      {(close) => (
        <>
          <div>{body}</div>
          <div class="choices">
            <button type="button" onClick={() => close(false)}>
              Cancel
            </button>
            <button type="button" class={isDangerous ? "danger" : "primary"} onClick={() => close(true)}>
              {action}
            </button>
          </div>
        </>
      )}
    </Modal>
  );
}
