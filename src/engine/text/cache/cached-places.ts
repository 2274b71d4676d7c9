// Pages of the prefix cache on the device, or copies of fixed states there: those that no sequence holds can be evicted.

import { leastRecent, type CachedPage } from './cached-page.ts';

export class CachedPlaces {
  readonly #all = new Set<CachedPage>();
  readonly #give: (page: number) => void;
  #evictable = 0;

  /** `give` takes back a page of the device. */
  constructor(give: (page: number) => void) {
    this.#give = give;
  }

  get count(): number {
    return this.#all.size;
  }

  /** Number of those that no sequence holds. */
  get evictable(): number {
    return this.#evictable;
  }

  hold(cached: CachedPage): void {
    if (cached.users++ === 0 && cached.page !== null) this.#evictable--;
  }

  release(cached: CachedPage): void {
    if (--cached.users > 0 || cached.page === null) return;
    this.#evictable++;
    if (cached.node.forgotten) this.free(cached);
  }

  /** Sets the page on the device; null: there is none any more. */
  set(cached: CachedPage, page: number | null): void {
    const unused = cached.users === 0 ? 1 : 0;
    if (cached.page === null && page !== null) {
      this.#all.add(cached);
      this.#evictable += unused;
    } else if (cached.page !== null && page === null) {
      this.#all.delete(cached);
      this.#evictable -= unused;
    }
    cached.page = page;
  }

  /** Gives the page back. */
  free(cached: CachedPage): void {
    this.#give(cached.page!);
    this.set(cached, null);
  }

  /** Those that can be evicted, least recently used first. */
  leastRecent(): CachedPage[] {
    return leastRecent([...this.#all].filter(({ users, loading }) => users === 0 && !loading));
  }

  /** Takes note that the device is lost, and returns what was on it. */
  lose(): CachedPage[] {
    const lost = [...this.#all];
    this.#all.clear();
    this.#evictable = 0;
    for (const cached of lost) Object.assign(cached, { page: null, loading: false, users: 0 });
    return lost;
  }
}
