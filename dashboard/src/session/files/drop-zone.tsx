import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { hasFiles } from "../../parts/refuse-drops.ts";

/** Takes files that are dropped anywhere on the page while it is shown. For the keyboard there is the upload button. */
export function DropZone({
  isOpen,
  onFiles,
  children,
}: {
  isOpen: boolean;
  onFiles: (files: readonly File[]) => void;
  children: ComponentChildren;
}) {
  const [isOver, setOver] = useState(false);
  const latest = useRef(onFiles);
  latest.current = onFiles;
  useEffect(() => {
    if (!isOpen) return;
    const leaving = new AbortController();
    const { signal } = leaving;
    let inside = 0; // leaving one element for another inside is no leaving
    const enter = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      inside++;
      setOver(true);
    };
    const leave = () => {
      inside = Math.max(0, inside - 1);
      if (inside === 0) setOver(false);
    };
    const over = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = "copy";
    };
    const drop = (event: DragEvent) => {
      inside = 0;
      setOver(false);
      if (!hasFiles(event)) return;
      event.preventDefault();
      latest.current([...event.dataTransfer.files]);
    };
    addEventListener("dragenter", enter, { signal });
    addEventListener("dragleave", leave, { signal });
    addEventListener("dragover", over, { signal });
    addEventListener("drop", drop, { signal });
    return () => leaving.abort();
  }, [isOpen]);
  return <div class={`drop-zone${isOver ? " over" : ""}`}>{children}</div>;
}
