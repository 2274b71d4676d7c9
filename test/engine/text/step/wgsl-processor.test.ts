// Requests' own functions on logits: correct ones work, broken ones get an error, and endless ones end.

import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import type { TextModel, TextRequest } from '../../../../src/engine/text/calls/text-model.ts';
import { fuelled } from '../../../../src/engine/text/step/wgsl-processor.ts';
import { collect, greedy, openGolden } from '../../fixture.ts';

const HEAD = 'fn process(token: u32, logit: f32, position: u32, count: u32) -> f32 {';
const written = (body: string): string => `${HEAD}\n${body}\n}`;

describe('the text of a WGSL processor is read before it is compiled', () => {
  const none = { declared: new Set(['logits', 'counts']), builtin: new Set(['f32', 'exp']) };

  it('every loop spends fuel, and no line moves', () => {
    const source = written(
      'var x = 0.0; // for (;;) {\nfor (var i = 0; i < 9; i++) { while x < 3.0 { x += 1.0; } }\nloop\n{ break; }\nreturn x;',
    );
    const text = fuelled(source, none);
    expect(text.split('svc_fuel -= 1u;')).toHaveLength(4);
    expect(text.split('\n')).toHaveLength(source.split('\n').length);
  });

  it.each([
    [written('return logits[0];'), 'the name logits'],
    [written('workgroupBarrier(); return 1.0;'), 'the name workgroupBarrier'],
    [written('svc_fuel = 9u; return 1.0;'), 'the name svc_fuel'],
    [`@group(0) @binding(9) var<uniform> x: u32;\n${written('return 1.0;')}`, '"@"'],
    [`var<private> x: f32;\n${written('return x;')}`, 'var without'],
    [`#import "lib/x.wgsl"\n${written('return 1.0;')}`, '"#"'],
    [`fn more() -> f32 { return 1.0; }\n${written('return more();')}`, 'one function'],
    ['fn other() -> f32 { return 1.0; }', 'one function'],
    [`enable f16;\n${written('return 1.0;')}`, 'the name enable'],
    [`alias f32 = i32;\n${written('return 1.0;')}`, 'alias f32'],
    [`${written('return 1.0;')}\nstruct Own { x: f32 }`, 'struct Own'],
    [`const exp = 2.0;\n${written('return exp;')}`, 'the name exp'],
    [written('/* return 1.0;'), 'comment'],
    [written(`return 1.0;${' '.repeat(5000)}`), 'the most is 4096'],
  ])('%s is refused', (source, message) => {
    expect(() => fuelled(source, none)).toThrow(message);
  });
});

it('a WGSL processor may have constants of its own, and any names within', () => {
  const source = `const mine = 2.0;\n${written('const exp = mine; let f = exp; return f;')}`;
  expect(fuelled(source, { declared: new Set(), builtin: new Set(['exp']) })).toBe(source);
});

describe('WGSL processors in a model', () => {
  let model: TextModel;
  beforeAll(async () => {
    model = await openGolden('qwen3', { customLogitProcessors: true });
  });
  afterAll(() => model.close());

  const request = greedy([5, 9, 40, 3], 10);
  const withSource = (source: string): TextRequest => ({
    ...request,
    processors: [{ name: 'wgsl', source }],
  });
  const idsOf = async (asked: TextRequest): Promise<number[]> =>
    (await collect(model.generate(asked))).ids[0]!;

  test('change logits by token, position and count', async () => {
    expect(await idsOf(withSource(written('return logit;')))).toEqual(await idsOf(request));
    const last = written('return f32(token);');
    expect(await idsOf(withSource(last))).toEqual(Array(10).fill(model.info.vocabSize - 1));
    // The generated tokens have positions 4 to 13.
    const counting = written('return select(logit, 1000.0, token == position * 2u);');
    expect(await idsOf(withSource(counting))).toEqual(Array.from({ length: 10 }, (_, i) => 2 * (4 + i)));
    const fresh = written(
      'var sum = 0.0;\nfor (var i = 0u; i < count; i++) { sum += 1000.0; }\nreturn -sum - f32(token);',
    );
    expect(await idsOf(withSource(fresh))).toEqual(Array.from({ length: 10 }, (_, i) => i));
  });

  test('are refused twice if broken ones come twice at a time, and others go on', async () => {
    const broken = withSource(written('return missing;'));
    const outcomes = await Promise.allSettled([request, broken, broken].map(idsOf));
    expect(outcomes[0]).toEqual({ status: 'fulfilled', value: await idsOf(request) });
    for (const outcome of outcomes.slice(1))
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'bad_request' } });
  });

  test.each([
    ['a name that is not for it to use', 'return sampled[0];', /the name sampled/],
    ['another name that is missing', 'return absent;', /absent/],
  ])('are refused again once refused, and others go on: %s', async (_, body, message) => {
    for (let time = 0; time < 3; time++) {
      const [well, refused] = await Promise.allSettled([request, withSource(written(body))].map(idsOf));
      expect(well).toMatchObject({ status: 'fulfilled' });
      expect(refused).toMatchObject({
        status: 'rejected',
        reason: { code: 'bad_request', message: expect.stringMatching(message) as string },
      });
    }
  });

  const NAN = 'sqrt(-1.0 - logit * logit)';
  const INFINITY = 'exp(1000.0 + logit * logit)';

  describe.each([
    ['NaN by division', 'return 0.0 / (logit - logit);'],
    ['NaN by a root', `return ${NAN};`],
    ['infinity', `return ${INFINITY};`],
    ['minus infinity', `return -${INFINITY};`],
    ['NaN for one token', `return select(logit, ${NAN}, token == 77u);`],
    ['minus infinity for one token', `return select(logit, -${INFINITY}, token == 330u);`],
  ])('that return %s are the fault of their request, and others go on', (_, body) => {
    test.each<[string, Partial<TextRequest>]>([
      ['alone', {}],
      ['with log probabilities', { logprobs: 3 }],
      ['at random', { temperature: 1, seed: 4 }],
    ])('%s', async (__, fields) => {
      const broken = { ...withSource(written(body)), ...fields };
      const [well, failed, after] = await Promise.allSettled([request, broken, request].map(idsOf));
      const { value } = well as PromiseFulfilledResult<number[]>;
      expect(value).toHaveLength(10);
      expect(after).toMatchObject({ status: 'fulfilled', value });
      expect(failed).toMatchObject({
        status: 'rejected',
        reason: {
          code: 'bad_request',
          param: 'processors',
          message: expect.stringContaining('returns NaN or infinity') as string,
        },
      });
      expect(await idsOf(request)).toEqual(value);
    });
  });

  test('end the text with the error if NaN comes at a later token', async () => {
    const broken = withSource(written(`return select(logit, ${NAN}, position == 7u && token == 3u);`));
    const told: number[] = [];
    const failure = await (async () => {
      for await (const event of model.generate(broken)) if (event.type === 'delta') told.push(...event.ids);
    })().catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'bad_request', param: 'processors' });
    expect(told).toEqual((await idsOf(request)).slice(0, told.length));
    expect(told).toHaveLength(3);
  });

  test('belong to one row of a batch each, or none', async () => {
    const sources = [3, 5, 7].map((id) => written(`return select(logit, 500.0, token == ${id}u);`));
    const asked = [...sources.map(withSource), request, withSource(sources[0]!)];
    const alone = [];
    for (const one of asked) alone.push(await idsOf(one));
    expect(alone[1]).toEqual(Array(10).fill(5));
    expect(await Promise.all(asked.map(idsOf))).toEqual(alone);
  });

  test.each([
    [written('return logit +;'), /line 2:/],
    [written('return token;'), /line 2:.*return/],
  ])("are refused with the compiler's message: %s", async (source, message) => {
    const failure = await idsOf(withSource(source)).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'bad_request', param: 'processors' });
    expect((failure as Error).message).toMatch(message);
    expect((await idsOf(request)).length).toBe(10);
  });

  test.each([['loop { }'], ['while true { }'], ['for (;;) { for (;;) { } }']])(
    'are ended if they do not end: %s',
    async (endless) => {
      const other = idsOf({ ...request, maxTokens: 40 });
      const failure = await idsOf(withSource(written(`${endless}\nreturn logit;`))).catch(
        (error: unknown) => error,
      );
      expect(failure).toMatchObject({ code: 'bad_request' });
      expect((failure as Error).message).toMatch('does not end');
      expect(await other).toHaveLength(40);
    },
  );

  test('do no harm if they leave nothing, or write beyond their own arrays', async () => {
    const nothing = written('return -3.4e38;');
    await expect(idsOf(withSource(nothing))).rejects.toThrow('leaves none');
    const beyond = written(
      'var a = array<f32, 4>(1.0, 2.0, 3.0, 4.0);\na[token * 1000u] = logit;\nreturn a[token & 3u];',
    );
    expect((await idsOf(withSource(beyond))).length).toBe(10);
    expect((await idsOf(request)).length).toBe(10);
  });
});

test('a model that was not opened for WGSL processors takes none', async () => {
  const model = await openGolden('qwen3');
  const asked = {
    ...greedy([5], 2),
    processors: [{ name: 'wgsl' as const, source: written('return logit;') }],
  };
  await expect(collect(model.generate(asked))).rejects.toThrow('`customLogitProcessors`');
  await model.close();
});
