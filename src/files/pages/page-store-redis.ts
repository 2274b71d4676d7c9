// KV pages in Redis or Valkey, through ioredis if it is installed. The server's own memory limit bounds their number; a page that is
// not requested for a week expires.

import { option, say } from '../message.ts';
import type { Redis } from 'ioredis';
import { networkError, reasonOf, unsupported } from '../error.ts';
import type { PageStore } from './page-store.ts';
import { openSealed, sealPage } from './stored-page.ts';

/** Connections: reads on one connection wait for each other. */
const CONNECTIONS = 4;
const SECONDS_KEPT = 7 * 24 * 3600;
const CONNECT_TIME = 5000;
/** Milliseconds in which the expiry of a chain of pages is renewed once. */
const RENEWAL_INTERVAL = 60_000;

/** `onTrouble` is called once, at the first failure. Throws unsupported without ioredis, network if the server cannot be reached. */
export async function openRedisStore(url: string, onTrouble: (message: string) => void): Promise<PageStore> {
  const { Redis: Client } = await import('ioredis').catch((cause: unknown) => {
    throw unsupported(
      say`${option('storageCache')} with a redis:// address needs the package ioredis: run npm install ioredis`,
      'storageCache',
      cause,
    );
  });
  const options = {
    lazyConnect: true,
    connectTimeout: CONNECT_TIME,
    commandTimeout: CONNECT_TIME,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
  };
  const connections = Array.from({ length: CONNECTIONS }, () => new Client(url, options));
  const store = new RedisStore(connections, withoutPassword(url), onTrouble);
  await store.connect();
  return store;
}

class RedisStore implements PageStore {
  readonly backend = 'redis';
  readonly used = null;
  readonly most = null;
  readonly #connections: readonly Redis[];
  /** Address without its password. */
  readonly #address: string;
  readonly #onTrouble: (message: string) => void;
  /** Last pages of the chains whose expiry was renewed since `#renewedSince`. */
  readonly #renewed = new Set<string>();
  #renewedSince = 0;
  #turn = 0;
  #hasTrouble = false;

  constructor(connections: readonly Redis[], address: string, onTrouble: (message: string) => void) {
    this.#connections = connections;
    this.#address = address;
    this.#onTrouble = onTrouble;
    for (const connection of connections) connection.on('error', (cause) => this.#reportOnce(cause));
  }

  async connect(): Promise<void> {
    try {
      await Promise.all(this.#connections.map((connection) => connection.connect()));
    } catch (cause) {
      for (const connection of this.#connections) connection.disconnect();
      throw networkError(
        `the storage cache at ${this.#address} cannot be reached (${reasonOf(cause)}): start the server, or check the address`,
        undefined,
        cause,
      );
    }
  }

  async leading(keys: readonly string[]): Promise<number> {
    const found = await Promise.all(keys.map((key) => this.#next().exists(nameOf(key)))).catch(
      (cause: unknown) => {
        this.#reportOnce(cause);
        return [];
      },
    );
    const missing = found.findIndex((count) => count === 0);
    return missing < 0 ? found.length : missing;
  }

  async read(key: string): Promise<Uint8Array | null> {
    const sealed = await this.#next()
      .getBuffer(nameOf(key))
      .catch((cause: unknown) => (this.#reportOnce(cause), null));
    return sealed && openSealed(key, sealed);
  }

  touch(keys: readonly string[]): void {
    if (Date.now() - this.#renewedSince > RENEWAL_INTERVAL) {
      this.#renewed.clear();
      this.#renewedSince = Date.now();
    }
    const last = keys.at(-1);
    if (last === undefined || this.#renewed.has(last)) return;
    this.#renewed.add(last);
    // The first page is renewed last: a server that has to evict then removes the ends of chains before their beginnings.
    const pipeline = this.#next().pipeline();
    for (const key of keys.toReversed()) pipeline.expire(nameOf(key), SECONDS_KEPT);
    void pipeline.exec().catch((cause: unknown) => this.#reportOnce(cause));
  }

  async write(key: string, before: string | null, bytes: Uint8Array): Promise<void> {
    // A page that is there is written again, because it may be damaged.
    await this.#next()
      .set(nameOf(key), sealPage(key, before, bytes), 'EX', SECONDS_KEPT)
      .catch((cause: unknown) => this.#reportOnce(cause));
  }

  async close(): Promise<void> {
    await Promise.all(
      this.#connections.map((connection) => connection.quit().catch(() => connection.disconnect())),
    );
  }

  #next(): Redis {
    return this.#connections[this.#turn++ % this.#connections.length]!;
  }

  #reportOnce(cause: unknown): void {
    if (this.#hasTrouble) return;
    this.#hasTrouble = true;
    this.#onTrouble(
      `the storage cache at ${this.#address} fails (${reasonOf(cause)}): what needs it is computed instead`,
    );
  }
}

function nameOf(key: string): string {
  return `svc:page:${key}`;
}

function withoutPassword(url: string): string {
  const address = new URL(url);
  address.password = '';
  address.username = '';
  return String(address);
}
