/** Whether files are dragged, and not text. */
export function hasFiles(event: DragEvent): event is DragEvent & { readonly dataTransfer: DataTransfer } {
  return event.dataTransfer?.types.includes("Files") === true;
}

/** A browser opens a file that is dropped where nothing takes it, and leaves the page. Where files are taken, a later listener says so. */
export function refuseDrops(): void {
  addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = "none";
  });
  addEventListener("drop", (event) => {
    if (hasFiles(event)) event.preventDefault();
  });
}
