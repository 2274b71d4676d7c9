// The interface of a store of KV pages.

export interface PageStore {
  /** The name in replies. */
  readonly backend: 'file' | 'redis';
  /** Bytes of all stored pages; null: the store does not count them. */
  readonly used: number | null;
  /** Most bytes; null: the server has a limit of its own. */
  readonly most: number | null;
  /** Number of these pages that are stored, up to the first that is not. */
  leading(keys: readonly string[]): Promise<number>;
  /** null: the page is not stored, or damaged. */
  read(key: string): Promise<Uint8Array | null>;
  /** `before`: name of the page before it. A file store skips a page that it has already, or has no room for. */
  write(key: string, before: string | null, bytes: Uint8Array): Promise<void>;
  /** Marks the stored ones of a chain of pages, from its first on, as used now. */
  touch(keys: readonly string[]): void;
  /** Resolves when all writes have ended. */
  close(): Promise<void>;
}
