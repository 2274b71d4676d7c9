// Work that only one of the browser's pages of this server does at a time.

/** Milliseconds between two marks of a page that works where the browser has no locks. */
const MARK_TIME = 10_000;
/** Milliseconds after which a page without a new mark is gone; browsers let hidden pages run once a minute. */
const MARK_LIFE = 90_000;
/** Milliseconds between two looks at another page's mark. */
const LOOK_TIME = 500;

/** Does work once no other page does work of this name. `hasWaited`: another page did until now, or was left. */
export async function alone(name: string, work: (hasWaited: boolean) => Promise<void>): Promise<void> {
  // Browsers have locks only on pages that came by HTTPS or from this machine.
  const locks = navigator.locks as LockManager | undefined;
  if (!locks) return aloneByMarks(name, work);
  const isFree = await locks.request(name, { ifAvailable: true }, async (lock) => {
    if (lock) await work(false);
    return lock !== null;
  });
  if (!isFree) await locks.request(name, () => work(true));
}

/** The same by marks in the browser's storage, which a page renews while it works and removes when it is left. */
async function aloneByMarks(name: string, work: (hasWaited: boolean) => Promise<void>): Promise<void> {
  let hasWaited = false;
  while (Date.now() - Number(localStorage.getItem(name) ?? 0) < MARK_LIFE) {
    hasWaited = true;
    await new Promise((resolve) => setTimeout(resolve, LOOK_TIME));
  }
  const mark = (): void => localStorage.setItem(name, String(Date.now()));
  const remove = (): void => localStorage.removeItem(name);
  mark();
  const timer = setInterval(mark, MARK_TIME);
  addEventListener('pagehide', remove);
  try {
    await work(hasWaited);
  } finally {
    clearInterval(timer);
    removeEventListener('pagehide', remove);
    remove();
  }
}
