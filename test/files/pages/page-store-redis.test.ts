import { afterEach, beforeEach, expect, it } from 'vitest';
import { openRedisStore } from '../../../src/files/pages/page-store-redis.ts';
import type { PageStore } from '../../../src/files/pages/page-store.ts';
import { pageName } from '../../../src/files/pages/stored-page.ts';
import { startFakeRedis, type FakeRedis } from './fake-redis.ts';

const name = (text: string): string => pageName('model', null, 'scope', text);
const page = (seed: number, length = 300_000): Uint8Array =>
  Uint8Array.from({ length }, (_, i) => (i * 31 + seed * 7) & 0xff);

let redis: FakeRedis;
let store: PageStore;
const troubles: string[] = [];
beforeEach(async () => {
  redis = await startFakeRedis();
  troubles.length = 0;
  store = await openRedisStore(redis.url, (message) => troubles.push(message));
});
afterEach(async () => {
  await store.close();
  await redis.stop();
});

it('the Redis store keeps pages beyond a connection, with a time to live', async () => {
  await Promise.all([1, 2].map((i) => store.write(name(`p${i}`), null, page(i))));
  const again = await openRedisStore(redis.url, () => {});
  expect(await again.leading(['p1', 'p2', 'p3'].map(name))).toBe(2);
  expect(await again.read(name('p2'))).toEqual(page(2));
  expect(await again.read(name('p3'))).toBeNull();
  await again.close();
  expect(again).toMatchObject({ backend: 'redis', used: null });
});

it('the Redis store renews the time of all pages up to one that is used, the first last, once a minute', async () => {
  const pages = ['p1', 'p2', 'p3'].map(name);
  for (const again of [1, 2]) {
    store.touch(pages);
    store.touch(pages.slice(0, 2));
    await expect.poll(() => redis.commands.filter((command) => command === 'expire')).toHaveLength(5);
    expect(redis.renewed.slice(0, 3), `${again}`).toEqual(pages.map((key) => `svc:page:${key}`).toReversed());
  }
});

it('the Redis store finds no page in a damaged value', async () => {
  await store.write(name('a'), null, page(1));
  const [key] = [...redis.values.keys()];
  redis.values.get(key!)![1000]! ^= 1;
  expect(await store.read(name('a'))).toBeNull();
  redis.values.set(key!, Buffer.alloc(0));
  expect(await store.read(name('a'))).toBeNull();
});

it('the Redis store loses pages when Redis goes away, and says so once, without the password', async () => {
  await store.write(name('a'), null, page(1));
  await redis.stop();
  expect(await store.read(name('a'))).toBeNull();
  await store.write(name('b'), null, page(1));
  expect(await store.leading([name('a')])).toBe(0);
  expect(troubles).toHaveLength(1);
  expect(troubles[0]).toContain('127.0.0.1');
  expect(troubles[0]).not.toContain('secret');
});

it('a Redis store that is not there is refused', async () => {
  await redis.stop();
  await expect(openRedisStore(redis.url, () => {})).rejects.toMatchObject({
    code: 'network',
    message: expect.not.stringContaining('secret') as string,
  });
});
