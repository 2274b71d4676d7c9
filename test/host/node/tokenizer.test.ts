// Grammars in real threads: hostile ones of one client, all at once, and a small schema of another client at the same time.

import { afterAll, expect, it } from 'vitest';
import type { EngineError } from '../../../src/files/error.ts';
import type { Port } from '../../../src/engine/platform/port.ts';
import { THREADS } from '../../../src/engine/text/threads/grammar-threads.ts';
import { connectTextThreads } from '../../../src/engine/text/threads/text-threads.ts';
import type { GrammarSource } from '../../../src/engine/text/threads/grammar-source.ts';
import { startTokenizer } from '../../../src/host/node/tokenizer.ts';

const ports: Port[] = [];
afterAll(() => ports.forEach((port) => port.end?.()));

const available = new Uint8Array(256).fill(1);
const { compile } = connectTextThreads('none', (memory) => {
  const port = startTokenizer(memory);
  ports.push(port);
  return port;
});

const by = ({ signal }: AbortController) => ({ signal, client: null });
const list = <T>(count: number, item: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => item(i));
const HOSTILE: GrammarSource[] = [
  ...list(8, (i): GrammarSource => ({ type: 'regex', pattern: `.*x.{${17 + i}}` })),
  { type: 'regex', pattern: '(?:(?:(?:a{0,30}b?){0,30}c?){0,30}d?)+' },
  { type: 'json_schema', schema: { type: 'integer', not: { enum: list(3000, (i) => 3 * i) } } },
  {
    type: 'json_schema',
    schema: { patternProperties: Object.fromEntries(list(4000, (i) => [`^p${i}_`, {}])) },
  },
  { type: 'json_schema', schema: { anyOf: list(2000, (i) => ({ type: 'string', pattern: `x${i}y` })) } },
];
const small = (i: number): GrammarSource => ({
  type: 'json_schema',
  schema: { type: 'object', properties: { name: { type: 'string' }, [`n${i}`]: { type: 'integer' } } },
});

it('a small schema does not wait for hostile ones, which end once their client has gone', async () => {
  const own = new AbortController();
  // As in a server that has run for a while: the threads exist already.
  await Promise.all([0, 1].map((i) => compile(small(i), available, by(own))));
  const client = new AbortController();
  let done = 0;
  const hostile = HOSTILE.map((source) =>
    compile(source, available, by(client))
      .catch((error: EngineError) => error.code)
      .finally(() => done++),
  );
  for (let i = 2; i < 6; i++) {
    await compile(small(i), available, by(own));
    // By order, not by the clock: if it had waited for the hostile ones, all of them would be done.
    expect(done).toBeLessThan(HOSTILE.length);
  }
  client.abort();
  await Promise.all(hostile);
  const last = new AbortController();
  const again = compile(HOSTILE[0]!, available, by(last)).catch((error: EngineError) => error.code);
  await compile(small(7), available, by(own));
  last.abort();
  expect(await again).toBe('cancelled');
  expect(ports.length).toBeLessThanOrEqual(THREADS + 4);
});
