// Events of a download, as data. The command line and the server print them.

export type HubEvent =
  /** The plan: `received` of `total` bytes are on disk already; `files` is the number of files that the model needs. */
  | {
      type: 'start';
      id: string;
      revision: string;
      files: number;
      received: number;
      total: number;
      percent: number;
    }
  /** Follows `start` if an earlier download of this model was interrupted. */
  | { type: 'resume'; id: string; files: { path: string; received: number; size: number }[]; percent: number }
  | { type: 'file'; path: string; size: number; state: 'started' | 'done' | 'cached' }
  /** At most ten a second, and once at the end. */
  | { type: 'progress'; received: number; total: number; percent: number }
  | { type: 'retry'; path: string; reason: string; attempt: number; waitMs: number }
  /** Another process, or another tab of the browser (`pid` null), is downloading this file; its bytes count as progress. */
  | { type: 'wait'; path: string; pid: number | null }
  /** The hub cannot be reached and the cached copy is used instead. */
  | { type: 'offline'; id: string; revision: string; reason: string }
  /** A repository has several quantizations as GGUF files and none was named; `message` says which is taken. */
  | { type: 'chosen'; id: string; message: string }
  /** `fetched` bytes came over the network in this call. */
  | { type: 'done'; id: string; revision: string; path: string; fetched: number };

export type OnHubEvent = (event: HubEvent) => void;

const PROGRESS_INTERVAL_MS = 100;

export const percentOf = (part: number, whole: number): number =>
  whole === 0 ? 100 : Math.floor((1000 * part) / whole) / 10;

/** Sums the bytes received by all files and reports the sum at limited intervals. */
export interface Progress {
  /** The file now contains `bytes`: after a resume, a restart, or progress of another process. */
  set(path: string, bytes: number): void;
  /** `bytes` more came over the network. */
  add(path: string, bytes: number): void;
  fetched(): number;
  /** Reports the remaining change; nothing is reported afterwards. */
  close(): void;
}

export function trackProgress(total: number, onEvent: OnHubEvent): Progress {
  const byFile = new Map<string, number>();
  let received = 0;
  let fetched = 0;
  let reportedAt = 0;
  let timer: ReturnType<typeof setTimeout> | null = null;

  const report = (): void => {
    if (timer) clearTimeout(timer);
    timer = null;
    reportedAt = Date.now();
    onEvent({ type: 'progress', received, total, percent: percentOf(received, total) });
  };
  const change = (path: string, bytes: number): void => {
    received += bytes - (byFile.get(path) ?? 0);
    byFile.set(path, bytes);
    // The last change before a pause is reported too, later.
    const wait = reportedAt + PROGRESS_INTERVAL_MS - Date.now();
    if (wait <= 0) report();
    else timer ??= setTimeout(report, wait);
  };
  return {
    set: change,
    add(path, bytes) {
      fetched += bytes;
      change(path, (byFile.get(path) ?? 0) + bytes);
    },
    fetched: () => fetched,
    close: report,
  };
}
