// KV pages in Redis or Valkey, through ioredis where it is installed. How many there are is for its own memory limit to say; a page
// that nobody asks for goes by itself.

import type { Redis } from 'ioredis';
import { EngineError } from '../error.ts';
import { openSealed, sealPage, type PageStore } from './page-store.ts';

/** Connections: many reads on one wait for each other. */
const LANES = 4;
const SECONDS_KEPT = 7 * 24 * 3600;
const CONNECT_TIME = 5000;
/** Milliseconds in which a page's time to live is renewed once. */
const RENEWED_EVERY = 60_000;

/** Throws where it cannot be reached, or ioredis is not there. */
export async function openRedisStore(url: string, onTrouble: (message: string) => void): Promise<PageStore> {
  const { Redis: Client } = await import('ioredis').catch((cause: unknown) => {
    throw new EngineError(
      'unsupported',
      '`storageCache` with a redis:// address needs the package ioredis: run npm install ioredis',
      { param: 'storageCache', cause },
    );
  });
  const shown = withoutPassword(url);
  let hasTrouble = false;
  const trouble = (cause: unknown): void => {
    if (!hasTrouble)
      onTrouble(
        `the storage cache at ${shown} fails (${messageOf(cause)}): what needs it is computed instead`,
      );
    hasTrouble = true;
  };
  const lanes = Array.from(
    { length: LANES },
    () =>
      new Client(url, {
        lazyConnect: true,
        connectTimeout: CONNECT_TIME,
        commandTimeout: CONNECT_TIME,
        enableOfflineQueue: false,
        maxRetriesPerRequest: 1,
      }),
  );
  for (const lane of lanes) lane.on('error', trouble);
  try {
    await Promise.all(lanes.map((lane) => lane.connect()));
  } catch (cause) {
    for (const lane of lanes) lane.disconnect();
    throw new EngineError(
      'network',
      `the storage cache at ${shown} cannot be reached (${messageOf(cause)}): start the server, or check the address`,
      { cause },
    );
  }
  let turn = 0;
  const next = (): Redis => lanes[turn++ % LANES]!;
  const named = (key: string): string => `svc:page:${key}`;
  /** Pages renewed lately, as the last of those touched. */
  const renewed = new Set<string>();
  let renewedSince = 0;

  return {
    backend: 'redis',
    used: null,
    most: null,
    async leading(keys) {
      const found = await Promise.all(keys.map((key) => next().exists(named(key)))).catch(
        (cause: unknown) => {
          trouble(cause);
          return [];
        },
      );
      const missing = found.findIndex((count) => count === 0);
      return missing < 0 ? found.length : missing;
    },
    async read(key) {
      const sealed = await next()
        .getBuffer(named(key))
        .catch((cause: unknown) => (trouble(cause), null));
      return sealed && openSealed(key, sealed);
    },
    touch(keys) {
      if (Date.now() - renewedSince > RENEWED_EVERY) {
        renewed.clear();
        renewedSince = Date.now();
      }
      const last = keys.at(-1);
      if (last === undefined || renewed.has(last)) return;
      renewed.add(last);
      // The first last: where Redis has to choose, ends of chains go before what they hang on.
      const pipeline = next().pipeline();
      for (const key of keys.toReversed()) pipeline.expire(named(key), SECONDS_KEPT);
      void pipeline.exec().catch(trouble);
    },
    async write(key, before, bytes) {
      // Written again even where it is there: it may be damaged.
      await next()
        .set(named(key), sealPage(key, before, bytes), 'EX', SECONDS_KEPT)
        .catch(trouble);
    },
    async close() {
      await Promise.all(lanes.map((lane) => lane.quit().catch(() => lane.disconnect())));
    },
  };
}

function withoutPassword(url: string): string {
  const address = new URL(url);
  address.password = '';
  address.username = '';
  return String(address);
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
