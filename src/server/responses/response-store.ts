// Keeps responses in memory so that a conversation can continue from them; the least recently used are evicted.

import { LRUCache } from 'lru-cache';
import type { InputItem } from './response-items.ts';

export interface StoredResponse {
  /** The response as it is sent. */
  response: { id: string; status: string };
  /** The conversation up to and including this response's output. */
  items: InputItem[];
  /** Items of the conversation that this request sent. */
  input: InputItem[];
}

export type ResponseStore = ReturnType<typeof createResponseStore>;

const MOST_RESPONSES = 1000;
/** Limit on the characters of JSON of all stored responses together. */
const MOST_CHARACTERS = 64 * 2 ** 20;

export function createResponseStore() {
  /** Stored responses by the ids of the items that they contain. */
  const having = new Map<unknown, Set<StoredResponse>>();
  const kept = new LRUCache<string, StoredResponse>({
    max: MOST_RESPONSES,
    maxSize: MOST_CHARACTERS,
    sizeCalculation: (stored) => JSON.stringify(stored).length,
    onInsert(stored) {
      for (const { id } of stored.items) {
        const known = having.get(id);
        if (known) known.add(stored);
        else if (id !== undefined) having.set(id, new Set([stored]));
      }
    },
    dispose(stored) {
      for (const { id } of stored.items) {
        const known = having.get(id);
        known?.delete(stored);
        if (known?.size === 0) having.delete(id);
      }
    },
  });
  return {
    /** Responses in progress → the function that cancels them. */
    running: new Map<string, () => void>(),
    get: (id: string) => kept.get(id),
    set: (stored: StoredResponse) => void kept.set(stored.response.id, stored),
    /** Returns false if no such response is stored. */
    delete: (id: string) => kept.delete(id),
    /** An output item of any kept response. */
    item(id: string): InputItem | undefined {
      const [stored] = having.get(id) ?? [];
      return stored?.items.find((item) => item['id'] === id);
    },
  };
}
