// Repeats a request while a view is shown, and only while its page can be seen.

import { useEffect } from 'preact/hooks';

/** Calls `run` at once and `milliseconds` after each end of it, until the component is removed; a hidden page waits. */
export function usePolling(run: () => Promise<void>, milliseconds: number): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | null = null;
    let isRunning = false;
    let isOver = false;
    const next = async (): Promise<void> => {
      if (isOver || isRunning || document.hidden) return;
      if (timer !== null) clearTimeout(timer);
      isRunning = true;
      await run();
      isRunning = false;
      timer = setTimeout(() => void next(), milliseconds);
    };
    const onVisible = (): void => void next();
    document.addEventListener('visibilitychange', onVisible);
    void next();
    return () => {
      isOver = true;
      if (timer !== null) clearTimeout(timer);
      document.removeEventListener('visibilitychange', onVisible);
    };
  }, []);
}
