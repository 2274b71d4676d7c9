// Tools and the choice among them.

import { describe, expect, it } from 'vitest';
import type { TextRequest } from '../../../src/index.ts';
import { field } from '../field-test.ts';
import { ask, start } from '../harness.ts';

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const weather = { type: 'function' as const, function: { name: 'weather', parameters } };
const clock = { type: 'function' as const, function: { name: 'clock' } };
const tools = [weather, clock];
const messages = [{ role: 'user' as const, content: 'hi' }];
const prompt = { messages, tools } as TextRequest['prompt'];
const withTools = { with: { tools } };

const withParameters = (wrong: unknown) => [{ type: 'function', function: { name: 'f', parameters: wrong } }];
const at = (path: string) => ({ param: `tools.0.function.parameters${path}` });

field('tools', {
  neutral: [[]],
  asks: [
    [tools, { prompt }],
    [
      [{ type: 'function', function: { name: 'f', description: 'does', strict: true, parameters: null } }],
      {
        prompt: {
          messages,
          tools: [{ type: 'function', function: { name: 'f', description: 'does', strict: true } }],
        },
      },
    ],
    [
      withParameters({ type: 'dict', properties: { a: { type: 'varchar' }, b: { type: ['int', 'null'] } } }),
      {
        prompt: {
          messages,
          tools: withParameters({
            type: 'object',
            properties: { a: { type: 'string' }, b: { type: ['integer', 'null'] } },
          }),
        } as TextRequest['prompt'],
      },
    ],
  ],
  refused: [
    ['x', 'a list'],
    [[{ type: 'custom', custom: {} }], 'must be "function", got "custom"', { param: 'tools.0.type' }],
    [[{ type: 'function' }], 'is required', { param: 'tools.0.function' }],
    [[{ type: 'function', function: {} }], 'is required', { param: 'tools.0.function.name' }],
    [[weather, weather], '"weather" twice'],
    [withParameters('x'), 'an object', at('')],
    [withParameters({ type: 'string' }), 'must be "object"', at('.type')],
    [withParameters({ properties: [] }), 'an object of schemas', at('.properties')],
    [withParameters({ properties: { a: { type: 'colour' } } }), 'one of string', at('.properties.a.type')],
    [withParameters({ properties: { a: 5 } }), 'must be a JSON Schema', at('.properties.a')],
    [withParameters({ required: 'a' }), 'a list of texts', at('.required')],
    [withParameters({ anyOf: {} }), 'a list of schemas', at('.anyOf')],
    [
      withParameters({ properties: { a: { items: [{ minLength: -1 }] } } }),
      'a whole number',
      at('.properties.a.items.0.minLength'),
    ],
  ],
});
field('tool_choice', {
  neutral: ['auto', 'none'],
  asks: [
    ['none', { prompt, toolChoice: 'none' }, withTools],
    ['required', { toolChoice: 'required' }, withTools],
    [{ type: 'function', function: { name: 'clock' } }, { toolChoice: { name: 'clock' } }, withTools],
    [
      { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [clock] } },
      { toolChoice: { mode: 'required', names: ['clock'] } },
      withTools,
    ],
  ],
  refused: [
    ['always', 'one of auto, none, required'],
    ['required', 'needs tools'],
    [{ type: 'function', function: { name: 'clock' } }, 'needs tools'],
    [
      { type: 'function', function: { name: 'map' } },
      'names "map", and the tools are weather, clock',
      withTools,
    ],
    [{ type: 'function' }, 'is required', { param: 'tool_choice.function', ...withTools }],
    [{ type: 'allowed_tools' }, 'is required', { param: 'tool_choice.allowed_tools', ...withTools }],
    [
      { type: 'custom', custom: { name: 'x' } },
      'one of function, allowed_tools',
      { param: 'tool_choice.type', ...withTools },
    ],
    [
      {
        type: 'allowed_tools',
        allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'map' } }] },
      },
      'names "map"',
      withTools,
    ],
  ],
});
field('parallel_tool_calls', {
  neutral: [true, false],
  asks: [[false, { prompt, parallelToolCalls: false }, withTools]],
  refused: [['no', 'a boolean']],
});
field('functions', {
  neutral: [[]],
  asks: [[[weather.function, clock.function], { prompt, parallelToolCalls: false }]],
  refused: [
    [[{}], 'is required', { param: 'functions.0.name' }],
    [[clock.function], 'send one of them', withTools],
    [[{ name: 'f', parameters: { type: 7 } }], 'must be "object"', { param: 'functions.0.parameters.type' }],
  ],
});
field('function_call', {
  neutral: ['auto', 'none'],
  asks: [
    ['none', { toolChoice: 'none' }, { with: { functions: [clock.function] } }],
    [{ name: 'clock' }, { toolChoice: { name: 'clock' } }, { with: { functions: [clock.function] } }],
  ],
  refused: [
    ['required', 'one of auto, none'],
    [{ name: 'map' }, 'names "map"', { with: { functions: [clock.function] } }],
    [{ name: 'clock' }, 'needs tools'],
    ['none', 'send one of them', { with: { tools, tool_choice: 'required' } }],
  ],
});

describe('a history in the older form', () => {
  it('has its function call among the tool calls', async () => {
    const { post, model } = await start({ strict: true });
    const call = { name: 'clock', arguments: '{}' };
    const history = [
      ...messages,
      { role: 'assistant', content: null, function_call: call, reasoning: 'hm' },
      { role: 'function', name: 'clock', content: '12:00' },
    ];
    expect((await post(ask('', { messages: history }))).status).toBe(200);
    expect(model.requests[0]?.prompt).toEqual({
      messages: [
        ...messages,
        {
          role: 'assistant',
          content: null,
          reasoning: 'hm',
          reasoning_content: 'hm',
          tool_calls: [{ type: 'function', function: call }],
        },
        { role: 'function', name: 'clock', content: '12:00' },
      ],
    });
  });
  it('is refused with a call of the user', async () => {
    const { post } = await start();
    const history = [{ role: 'user', content: 'x', function_call: { name: 'f', arguments: '{}' } }];
    const reply = (await (await post(ask('', { messages: history }))).json()) as { error: object };
    expect(reply.error).toMatchObject({ param: 'messages.0.function_call' });
  });
});
