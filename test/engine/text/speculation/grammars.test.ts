// Drafts under real grammars, where each token that a grammar prescribes needs a forward pass of its own: the shipped model's replies are
// those that it gives without drafts.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTextModel, shippedModelPath, type TextModel, type TextRequest } from '../../../../src/index.ts';
import { collect } from '../../fixture.ts';

const SCHEMA = {
  type: 'object',
  properties: {
    name: { type: 'string', maxLength: 12 },
    capital: { type: 'boolean' },
    rivers: { type: 'array', items: { enum: ['Seine', 'Loire', 'Rhône'] }, minItems: 1, maxItems: 3 },
  },
  required: ['name', 'capital', 'rivers'],
};
const PREDICTION = '{"name": "Paris", "capital": true, "rivers": ["Seine", "Loire"]}';

let plain: TextModel;
let drafting: TextModel;
beforeAll(async () => {
  const options = { model: shippedModelPath(), inline: true, enableHiddenStates: true } as const;
  plain = await openTextModel(options);
  drafting = await openTextModel({ ...options, speculativeAlgorithm: 'ngram', speculativeAdaptive: false });
}, 240_000);
afterAll(async () => {
  await plain.close();
  await drafting.close();
});

it.each([{}, { logprobs: 1 }, { hiddenStates: 'last' as const }, { logprobs: 0, speculative: false }])(
  'replies with a JSON Schema and %o are those without drafts',
  async (members) => {
    for (const [prediction, temperature] of [
      [PREDICTION, 0],
      [PREDICTION.replaceAll(' ', ''), 0.8],
      [PREDICTION.replace('true', 'false'), 0],
    ] as const) {
      const request: TextRequest = {
        prompt: { messages: [{ role: 'user', content: 'Tell me about Paris as JSON.' }] },
        ...{ temperature, seed: 4, maxTokens: 80, constraint: { type: 'json_schema', schema: SCHEMA } },
        ...members,
      };
      const expected = await collect(plain.generate(request));
      const found = await collect(drafting.generate({ ...request, prediction }));
      expect(found.text).toEqual(expected.text);
      expect(found.ids).toEqual(expected.ids);
    }
  },
);

it('calls of tools, whose arguments begin to be constrained within a draft, are those without drafts', async () => {
  const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
  const tools = [{ type: 'function' as const, function: { name: 'get_weather', parameters } }];
  const said = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>';
  for (const content of ['What is the weather in Paris?', 'Hello!'])
    for (const toolChoice of ['auto', 'required'] as const)
      for (const members of [{}, { logprobs: 0 }]) {
        const messages = [{ role: 'user' as const, content }];
        const request = {
          prompt: { messages, tools },
          temperature: 0,
          maxTokens: 60,
          toolChoice,
          ...members,
        };
        const whole = async (model: TextModel, asked: TextRequest): Promise<unknown[]> => {
          const told: unknown[] = [];
          for await (const event of model.generate(asked)) {
            if (event.type === 'toolCall') told.push([event.name, event.arguments, event.ids].flat());
            if (event.type === 'delta') told.push(...event.ids);
            if (event.type === 'done') told.push(event.finishReason, event.completionTokens);
          }
          return told.flat();
        };
        const joined = (told: unknown[]): string => told.map(String).join('');
        const expected = joined(await whole(plain, request));
        expect(joined(await whole(drafting, { ...request, prediction: said }))).toEqual(expected);
      }
});

it('drafts were computed under the grammar, and none for the requests that asked for none', async () => {
  const { speculation } = await drafting.metrics();
  expect(speculation!.accepted).toBeGreaterThan(20);
});
