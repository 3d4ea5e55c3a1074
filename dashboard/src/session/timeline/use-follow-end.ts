import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";

/** How far from the end of the page still counts as its end, in pixels. */
const nearEnd = 80;

/** Keeps the end of a growing part on the screen, while the user is there. Who scrolls up to read stays where they are. */
export function useFollowEnd(part: RefObject<HTMLElement | null>, isReady: boolean): void {
  useEffect(() => {
    if (!isReady || !part.current) return;
    const { documentElement: page } = document;
    let isAtEnd = true;
    const toEnd = () => window.scrollTo({ top: page.scrollHeight, behavior: "instant" });
    const look = () => {
      isAtEnd = page.scrollHeight - window.scrollY - window.innerHeight < nearEnd;
    };
    const watcher = new ResizeObserver(() => {
      if (isAtEnd) toEnd();
    });
    watcher.observe(part.current);
    // only the user's own scrolling decides: the browser scrolls too when it learns how high a run is
    const acts = ["wheel", "touchmove", "keydown", "pointerup"] as const;
    const looked = () => requestAnimationFrame(look);
    for (const act of acts) addEventListener(act, looked, { passive: true });
    addEventListener("scrollend", look);
    toEnd();
    return () => {
      watcher.disconnect();
      for (const act of acts) removeEventListener(act, looked);
      removeEventListener("scrollend", look);
    };
  }, [isReady]);
}
