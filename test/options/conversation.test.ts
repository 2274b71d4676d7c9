// The shapes of conversations, tools and processors mean the same to the library's rules and to the schemas of requests.

import { expect, it } from 'vitest';
import { ruleOf } from '../../src/engine/input/rules.ts';
import {
  CALLED_FUNCTION,
  FUNCTION,
  MESSAGE,
  PROCESSOR,
  REASONING,
  TOOL,
  TOOL_CALL,
} from '../../src/options/conversation.ts';
import type { Shape } from '../../src/options/shape.ts';
import { shapeSchema } from '../../src/server/body/setting-fields.ts';

const call = { function: { name: 'f', arguments: '{}' } };

const CASES: [what: string, shape: Shape, valid: unknown[], invalid: unknown[]][] = [
  [
    'a called function',
    CALLED_FUNCTION,
    [call.function, { name: 'f', arguments: {} }, { ...call.function, more: 1 }],
    [{ name: 'f' }, { name: '', arguments: '' }, { name: 'f', arguments: 1 }, 'f', null],
  ],
  [
    'a call',
    TOOL_CALL,
    [call, { ...call, id: 'a', type: 'function' }],
    [{}, { ...call, type: 'code' }, { ...call, id: 1 }, { ...call, id: null }],
  ],
  [
    'a message',
    MESSAGE,
    [
      { role: 'user' },
      { role: 'tool', name: null, tool_call_id: 'a' },
      { role: 'assistant', tool_calls: [call] },
    ],
    [{}, { role: 'robot' }, { role: 'user', name: 1 }, { role: 'assistant', tool_calls: [{}] }],
  ],
  [
    'a function',
    FUNCTION,
    [{ name: 'f' }, { name: 'f', description: '', parameters: { type: 'object' }, strict: false }],
    [{}, { name: 'f', strict: 'no' }, { name: 'f', parameters: [] }],
  ],
  ['a tool', TOOL, [{ type: 'function', function: { name: 'f' } }], [{ function: { name: 'f' } }]],
  ['reasoning', REASONING, [{}, { effort: 'low', budget: 0 }], [{ effort: 'some' }, { budget: -1 }]],
  [
    'a processor',
    PROCESSOR,
    [
      { name: 'allowed_tokens', tokens: [1] },
      { name: 'no_repeat_ngram', size: 2 },
      { name: 'bad_words', words: ['never'] },
    ],
    [
      {},
      { name: 'unknown' },
      { name: 'allowed_tokens', tokens: [] },
      { name: 'no_repeat_ngram', size: 0 },
      { name: 'wgsl', source: '', more: 1 },
    ],
  ],
];

it.each(CASES)('the conversation rule for %s', (_, shape, valid, invalid) => {
  const rule = ruleOf(shape);
  const schema = shapeSchema(shape);
  for (const value of valid) {
    expect(() => rule(value, 'value')).not.toThrow();
    expect(schema.safeParse(value).success, JSON.stringify(value)).toBe(true);
  }
  for (const value of invalid) {
    expect(() => rule(value, 'value'), JSON.stringify(value)).toThrow(/^value/);
    expect(schema.safeParse(value).success, JSON.stringify(value)).toBe(false);
  }
});
