import { useEffect, useRef, useState } from "preact/hooks";
import { call, getJson, sessionPath } from "../../api/client.ts";
import { pathPart } from "../../api/path-part.ts";
import { ErrorBox } from "../../parts/error-box.tsx";
import { useAction } from "../../parts/load/use-action.ts";
import { canRun } from "../../state/service.ts";
import "./console.css";
import { ConsoleHistory } from "./console-history.ts";
import type { Editor } from "./editor.ts";
import type { Completions } from "./editor-completion.ts";
import { StdinLine } from "./stdin-line.tsx";
import type { Timeline } from "./timeline.ts";
import type { TimelineRun } from "./timeline-run.ts";

const languageTitles: Readonly<Record<string, string>> = { python: "Python", bash: "bash" };
/** What was typed and not run, by session, while the user looks at other panels. */
const drafts = new Map<string, string>();

/** Runs code in the session. */
export function Console({ timeline }: { timeline: Timeline }) {
  if (canRun.value) return <ConsoleForm timeline={timeline} />;
  return (
    <section class="console" aria-label="Console">
      <p class="quiet">
        This token can only read. To run code here, sign in with a token that has the scope <code>run</code>:{" "}
        <code>codecell token create NAME --scopes run</code>
      </p>
    </section>
  );
}

function ConsoleForm({ timeline }: { timeline: Timeline }) {
  const { session } = timeline;
  const draftKey = `${session.namespace}/${session.id}`;
  const [language, setLanguage] = useState("python");
  const [languages, setLanguages] = useState<readonly string[]>(["python"]);
  const [isEmpty, setEmpty] = useState((drafts.get(draftKey) ?? "") === "");
  const place = useRef<HTMLDivElement>(null);
  const runButton = useRef<HTMLButtonElement>(null);
  const editor = useRef<Editor>(undefined);
  const starting = useAction();
  const running = timeline.running.value;
  const isBusy = running !== undefined || starting.isBusy;

  const run = async () => {
    const code = editor.current?.text ?? "";
    if (code.trim() === "" || timeline.running.peek() !== undefined) return;
    await starting.run(async () => {
      await timeline.start(code, latestLanguage.current);
      if (editor.current?.text === code) editor.current.set("");
    });
  };
  const latestRun = useRef(run);
  latestRun.current = run;
  const latestLanguage = useRef(language);
  latestLanguage.current = language;

  useEffect(() => {
    let isGone = false;
    const history = new ConsoleHistory(() => timeline.runs.peek().flatMap(({ code }) => code ?? []));
    const root = place.current?.shadowRoot ?? place.current?.attachShadow({ mode: "open", delegatesFocus: true });
    if (!root) return;
    void import("./editor.ts").then(({ createEditor }) => {
      if (isGone) return;
      editor.current = createEditor({
        ...{ root, text: drafts.get(draftKey) ?? "", language: latestLanguage.current, label: "Code to run" },
        onRun: () => void latestRun.current(),
        onLeave: () => runButton.current?.focus(),
        onChange: (text) => {
          drafts.set(draftKey, text);
          setEmpty(text.trim() === "");
        },
        recall: (step, text) => history.recall(step, text),
        complete: async (code, cursor) => {
          if (latestLanguage.current !== "python") return undefined;
          const path = sessionPath(session, "/complete");
          return getJson<Completions>(path, { method: "POST", json: { code, cursor } }).catch(() => undefined);
        },
      });
      place.current?.setAttribute("data-ready", "");
    });
    return () => {
      isGone = true;
      editor.current?.destroy();
      editor.current = undefined;
    };
  }, [timeline]);
  useEffect(() => editor.current?.setLanguage(language), [language]);

  /** Asks for the languages when the console is used: the answer needs a cell, and looking must not start one. */
  const wantsLanguages = useRef(true);
  const findLanguages = () => {
    if (!wantsLanguages.current) return;
    wantsLanguages.current = false;
    getJson<{ languages: string[] }>(sessionPath(session, "/cell")).then(
      (cell) => setLanguages(cell.languages),
      () => {
        wantsLanguages.current = true;
      },
    );
  };
  return (
    <section class="console" aria-label="Console" onFocusIn={findLanguages}>
      {starting.error ? <ErrorBox error={starting.error} /> : null}
      {running?.takesInput ? <StdinLine key={running.key} session={session} run={running} /> : null}
      <div class="editor" ref={place} />
      <div class="console-tools">
        <button
          ref={runButton}
          type="button"
          class="primary"
          aria-disabled={isBusy || isEmpty}
          title={isBusy ? "A run is running" : isEmpty ? "Write code first" : undefined}
          onClick={() => void run()}
        >
          Run
        </button>
        {running ? <InterruptButton key={running.key} timeline={timeline} run={running} /> : null}
        <label>
          Language{" "}
          <select value={language} onChange={(event) => setLanguage(event.currentTarget.value)}>
            {languages.map((name) => (
              <option key={name} value={name}>
                {languageTitles[name] ?? name}
              </option>
            ))}
          </select>
        </label>
        <span class="quiet hint">
          <kbd>Shift+Enter</kbd> runs · <kbd>Tab</kbd> completes or indents · <kbd>Escape</kbd> leaves the editor
        </span>
      </div>
    </section>
  );
}

/** Interrupts a run as Ctrl-C does; pressed again, it cancels a run that ignores this. */
function InterruptButton({ timeline, run }: { timeline: Timeline; run: TimelineRun }) {
  const [isPressed, setPressed] = useState(false);
  const { run: act, error } = useAction();
  const press = () => {
    const how = isPressed ? "cancel" : "interrupt";
    const path = sessionPath(timeline.session, `/runs/${pathPart(run.runId ?? "")}/${how}`);
    setPressed(true);
    void act(async (signal) => void (await call(path, { method: "POST", signal })));
  };
  return (
    <>
      <button type="button" class="danger" onClick={press}>
        {isPressed ? "Cancel the run" : "Interrupt"}
      </button>
      <span class="quiet" role="status">
        {error ? error.message : isPressed ? "Interrupt sent. Press again to stop a run that ignores it." : ""}
      </span>
    </>
  );
}
