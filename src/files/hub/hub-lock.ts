// Lock of a blob, so that only one process downloads it. A lock is a file that names its holder and is touched while the download
// runs; another process takes it over when the holder has died or stopped touching it. If two processes hold it, they write the
// same bytes to the same places, and the result is hashed: the lock only saves traffic.
import { jsonObject } from '../source.ts';
import { mkdir, open, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { pause, throwIfCancelled } from './hub-http.ts';
import { isAlive } from '../disk/live-process.ts';

const TOUCH_MS = 2000;
const SILENT_MS = 10_000;
const POLL_MS = 100;

interface Lock {
  release(): Promise<void>;
}

interface Holder {
  pid: number;
  host: string;
}

/** Waits for the lock. `onWait` is called at each check while another process holds it. */
export async function acquireLock(
  path: string,
  signal: AbortSignal | undefined,
  onWait: (pid: number) => Promise<void> | void,
): Promise<Lock> {
  await mkdir(dirname(path), { recursive: true });
  for (;;) {
    throwIfCancelled(signal);
    const file = await open(path, 'wx').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') return null;
      throw error;
    });
    if (file) {
      await file.writeFile(JSON.stringify({ pid: process.pid, host: hostname() } satisfies Holder));
      await file.close();
      return keep(path);
    }
    const holder = await lockHolder(path);
    if (holder === 'dead') {
      if (await clearAway(path)) continue;
    } else if (holder !== null) {
      await onWait(holder.pid);
    }
    await pause(POLL_MS, signal);
  }
}

/** Removes a stale lock by renaming it; only one process succeeds. Returns false also if the system forbids it. */
async function clearAway(path: string): Promise<boolean> {
  const stale = `${path}.${process.pid}.stale`;
  try {
    await rename(path, stale);
  } catch {
    return false;
  }
  await rm(stale, { force: true });
  return true;
}

function keep(path: string): Lock {
  const timer = setInterval(() => {
    const now = new Date();
    utimes(path, now, now).catch(() => {});
  }, TOUCH_MS);
  timer.unref();
  return {
    async release() {
      clearInterval(timer);
      await rm(path, { force: true });
    },
  };
}

/** The holder of the lock; null if there is no lock, 'dead' if its holder no longer runs. */
export async function lockHolder(path: string): Promise<Holder | 'dead' | null> {
  const [found, text] = await Promise.all([
    stat(path).catch(() => null),
    readFile(path, 'utf8').catch(() => ''),
  ]);
  if (!found) return null;
  if (Date.now() - found.mtimeMs > SILENT_MS) return 'dead';
  const { pid = 0, host = '' } = (jsonObject(text) ?? {}) as Partial<Holder>;
  // Between its creation and its first write the file is empty, so a live process is writing it.
  if (pid === 0 || host !== hostname()) return { pid, host };
  return isAlive(pid) ? { pid, host } : 'dead';
}
