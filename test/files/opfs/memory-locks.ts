// Locks of an origin over its tabs, as navigator.locks has them.

interface Request {
  name: string;
  mode: 'exclusive' | 'shared';
  tab: object;
  start: () => void;
}

type Callback = (lock: { name: string } | null) => unknown;

/** `tab`: any object that stands for a tab. */
export class MemoryLocks {
  #held: Request[] = [];
  #waiting: Request[] = [];

  of(tab: object) {
    return {
      request: (name: string, ...rest: [Callback] | [LockOptions, Callback]): Promise<unknown> => {
        const [{ mode = 'exclusive', ifAvailable = false }, callback] =
          rest.length === 1 ? [{}, rest[0]] : rest;
        return new Promise((resolve, reject) => {
          const run = async (lock: { name: string } | null): Promise<unknown> => callback(lock);
          const request: Request = {
            name,
            mode,
            tab,
            start: () => {
              this.#held.push(request);
              void run({ name })
                .finally(() => this.#release(request))
                .then(resolve, reject);
            },
          };
          if (ifAvailable && !this.#isFree(request)) void run(null).then(resolve, reject);
          else this.#waiting.push(request);
          this.#grant();
        });
      },
      query: async () => ({ held: this.#held.map(({ name, mode }) => ({ name, mode })), pending: [] }),
    };
  }

  end(tab: object): void {
    this.#held = this.#held.filter((request) => request.tab !== tab);
    this.#waiting = this.#waiting.filter((request) => request.tab !== tab);
    this.#grant();
  }

  #isFree({ name, mode }: Request): boolean {
    return this.#held.every((held) => held.name !== name || (held.mode === 'shared' && mode === 'shared'));
  }

  #grant(): void {
    for (const request of [...this.#waiting]) {
      if (!this.#isFree(request)) continue;
      this.#waiting = this.#waiting.filter((one) => one !== request);
      request.start();
    }
  }

  #release(request: Request): void {
    this.#held = this.#held.filter((held) => held !== request);
    this.#grant();
  }
}
