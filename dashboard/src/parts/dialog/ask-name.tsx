import type { ComponentChildren } from "preact";
import { useCallback, useId, useState } from "preact/hooks";
import { Modal } from "./modal.tsx";

/** What a name is asked for. */
export interface NameQuestion {
  readonly title: string;
  readonly label: string;
  readonly hint?: string;
  /** the text of the button that goes on, such as `Fork` */
  readonly action: string;
  /** whether it may be left empty */
  readonly isOptional?: boolean;
}

/** `const [askName, dialog] = useAskName()`: render `dialog` somewhere; the answer is undefined after Cancel or Escape. */
export function useAskName(): [(question: NameQuestion) => Promise<string | undefined>, ComponentChildren] {
  const [asked, setAsked] = useState<{ question: NameQuestion; answer: (name: string | undefined) => void }>();
  const ask = useCallback(
    (question: NameQuestion) => new Promise<string | undefined>((answer) => setAsked({ question, answer })),
    [],
  );
  const dialog = asked ? (
    <NameDialog
      question={asked.question}
      onAnswer={(name) => {
        setAsked(undefined);
        asked.answer(name);
      }}
    />
  ) : null;
  return [ask, dialog];
}

function NameDialog({ question, onAnswer }: { question: NameQuestion; onAnswer: (name: string | undefined) => void }) {
  const { title, label, hint, action, isOptional = false } = question;
  const id = useId();
  const [name, setName] = useState("");
  return (
    <Modal<string> title={title} onClose={onAnswer}>
      {(close) => (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (isOptional || name.trim() !== "") close(name.trim());
          }}
        >
          <div class="field">
            <label for={id}>{label}</label>
            <input
              id={id}
              autocomplete="off"
              spellcheck={false}
              maxLength={128}
              required={!isOptional}
              value={name}
              onInput={(event) => setName(event.currentTarget.value)}
            />
            {hint ? <span class="quiet">{hint}</span> : null}
          </div>
          <div class="choices">
            <button type="button" onClick={() => close()}>
              Cancel
            </button>
            <button type="submit" class="primary">
              {action}
            </button>
          </div>
        </form>
      )}
    </Modal>
  );
}
