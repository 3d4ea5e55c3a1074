/** Where interpreters keep their own modules and what was installed. Frames of `<run 1>` and /workspace are the user's. */
const libraryFile = /\/(?:lib|lib64)\/python|site-packages|dist-packages|python\d*\.zip|^<frozen |^\/lib\//;
const frameLine = /^ {2}File "([^"\n]*)", line \d+/;
const heading = "Traceback (most recent call last):\n";
const maxModules = 3;

interface Frame {
  readonly file: string;
  readonly lines: string[];
}

/** A traceback for a model: consecutive frames of libraries become one line, and the first heading is left out. */
export function foldTraceback(traceback: string): string {
  const folded: string[] = [];
  let frame: Frame | undefined;
  let library: Frame[] = [];
  const endFrames = () => {
    folded.push(...foldedFrames(library));
    library = [];
  };
  const endFrame = () => {
    if (frame && libraryFile.test(frame.file)) library.push(frame);
    else if (frame) {
      endFrames();
      folded.push(...frame.lines);
    }
    frame = undefined;
  };
  for (const line of traceback.split("\n")) {
    const file = frameLine.exec(line)?.[1];
    if (file !== undefined) {
      endFrame();
      frame = { file, lines: [line] };
    } else if (frame && line.startsWith("  ")) frame.lines.push(line);
    else {
      endFrame();
      endFrames();
      folded.push(line);
    }
  }
  endFrame();
  endFrames();
  const text = folded.join("\n");
  return text.startsWith(heading) ? text.slice(heading.length) : text;
}

/** One frame is as short as the line that would replace it. */
function foldedFrames(frames: readonly Frame[]): string[] {
  if (frames.length < 2) return frames.flatMap(({ lines }) => lines);
  const modules = [...new Set(frames.map(({ file }) => moduleOf(file)))];
  const more = modules.length > maxModules ? ", …" : "";
  return [`  … ${frames.length} frames in ${modules.slice(0, maxModules).join(", ")}${more}`];
}

/** `/usr/lib/python3.11/urllib/request.py` → `urllib` */
function moduleOf(file: string): string {
  const below =
    file.split(/(?:site|dist)-packages\/|\/lib(?:64)?\/python[^/]*\/|python\d*\.zip\/|^<frozen /).at(-1) ?? file;
  return (below.split(/[/.>]/).find((part) => part !== "") ?? file).slice(0, 40);
}
