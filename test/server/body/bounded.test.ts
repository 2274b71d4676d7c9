import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { list, MOST_IDS, record, tokenId } from '../../../src/server/body/bounded.ts';
import { ROUTES } from '../../../src/server/routes.ts';
import { openApi } from '../../../src/server/docs/openapi.ts';

/** A schema that counts the values that it checks. */
function counted() {
  const seen = { count: 0 };
  const schema = z.unknown().refine((value) => {
    seen.count += 1;
    return value === 'right';
  });
  return { seen, schema };
}

const issuesOf = (schema: z.ZodType, value: unknown) => schema.safeParse(value).error?.issues ?? [];

describe('a bounded list', () => {
  it('is not looked into where it is too long', () => {
    const { seen, schema } = counted();
    const issues = issuesOf(list(schema, 10), Array(11).fill('right'));
    expect(issues[0]).toMatchObject({ code: 'too_big', maximum: 10, path: [] });
    expect(seen.count).toBe(0);
  });

  it('is looked at as far as the first entry that is wrong, within others too', () => {
    const { seen, schema } = counted();
    const issues = issuesOf(list(list(schema, 100), 100), [['right'], ['right', ...Array(90).fill(0)], [0]]);
    expect(issues).toHaveLength(1);
    expect(issues[0]?.path).toEqual([1, 1]);
    expect(seen.count).toBe(3);
  });

  it('of token ids stays the list it is, and names the first that is none', () => {
    const ids = Array<unknown>(5000).fill(7);
    expect(list(tokenId, MOST_IDS).parse(ids)).toBe(ids);
    ids[4000] = 0.5;
    ids[4001] = -1;
    expect(issuesOf(list(tokenId, MOST_IDS), ids)).toMatchObject([{ code: 'invalid_type', path: [4000] }]);
  });

  it('shows rules over the whole no more than what was looked at', () => {
    const seen: unknown[] = [];
    const message = z
      .object({ parts: list(z.string().min(1), 5) })
      .refine(({ parts }) => seen.push(...parts));
    expect(issuesOf(message, { parts: ['a', '', 7] })).toMatchObject([
      { code: 'too_small', path: ['parts', 1] },
    ]);
    expect(seen).toEqual(['a', '']);
  });

  it('keeps its least number, and what its entries become', () => {
    const schema = list(
      z.string().transform((text) => text.length),
      3,
    ).min(1);
    expect(schema.parse(['a', 'bb'])).toEqual([1, 2]);
    expect(issuesOf(schema, [])).toMatchObject([{ code: 'too_small' }]);
    expect(issuesOf(schema, 'a')).toMatchObject([{ code: 'invalid_type', expected: 'array' }]);
  });
});

describe('a bounded record', () => {
  it('is not looked into where it has too many entries', () => {
    const { seen, schema } = counted();
    const issues = issuesOf(record(schema, { most: 2 }), { a: 1, b: 2, c: 3 });
    expect(issues).toMatchObject([{ message: 'must have at most 2 entries', path: [] }]);
    expect(seen.count).toBe(0);
  });

  it('refuses the name that would change what an object is', () => {
    expect(issuesOf(record(z.number()), JSON.parse('{"__proto__":5}'))).toMatchObject([
      { path: ['__proto__'] },
    ]);
    expect(record(z.number()).parse({ constructor: 1 })).toEqual({ constructor: 1 });
  });
});

/** Paths of lists without a length limit in a JSON schema. */
function endless(schema: unknown, path: string): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const own = Reflect.get(schema, 'type') === 'array' && !('maxItems' in schema) ? [path] : [];
  return [...own, ...Object.entries(schema).flatMap(([name, part]) => endless(part, `${path}.${name}`))];
}

it('/openapi.json says of every list in a body how long it may be', async () => {
  const { paths } = await openApi(ROUTES, '0');
  const bodies = Object.entries(paths).map(([path, methods]) => [path, methods.post?.requestBody] as const);
  expect(bodies.filter(([, body]) => body).length).toBeGreaterThan(20);
  expect(bodies.flatMap(([path, body]) => endless(body, path))).toEqual([]);
  const chat = paths['/v1/chat/completions']?.post?.requestBody?.content['application/json']?.schema;
  expect(chat).toMatchObject({
    properties: {
      input_ids: { minItems: 1, maxItems: MOST_IDS },
      logit_bias: { maxProperties: 1024 },
    },
  });
});
