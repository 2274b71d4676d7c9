// The fields for the prompt, the constraint on the answer, and the parts to return.

import { describe, expect, it } from 'vitest';
import type { TextRequest } from '../../../src/index.ts';
import { field } from '../field-test.ts';
import { ask, start } from '../harness.ts';

const messages = [{ role: 'user', content: 'hi' }];
const schema = { type: 'object', properties: { a: { type: 'integer' } } };
const jsonSchema = { type: 'json_schema' as const, schema };

field('messages', {
  asks: [[[{ role: 'user', content: 'x' }], { prompt: { messages: [{ role: 'user', content: 'x' }] } }]],
  refused: [
    [[], 'at least 1 entry'],
    ['x', 'a list'],
    [[{ role: 'robot', content: 'x' }], 'one of system, user', { param: 'messages.0.role' }],
  ],
});
field('model', {
  asks: [
    ['fake-chat', { prompt: { messages } as TextRequest['prompt'] }],
    ['default:poet', { lora: 'poet' }],
    ['fake-chat: poet ', { lora: 'poet' }],
  ],
  refused: [
    ['nobody', 'this server has fake-chat', { code: 'model_not_found' }],
    ['nobody:poet', 'this server has fake-chat', { code: 'model_not_found' }],
    ['', 'at least 1 character'],
  ],
});
field('response_format', {
  neutral: [{ type: 'text' }, {}],
  asks: [
    [{ type: 'json_object' }, { constraint: { type: 'json_object' } }],
    [{ type: 'json_schema', json_schema: { name: 'a', schema, strict: false } }, { constraint: jsonSchema }],
    [{ type: 'json_schema', schema }, { constraint: jsonSchema }],
    [{ type: 'json_object', schema }, { constraint: jsonSchema }],
    [
      { type: 'json_schema', json_schema: { schema: true } },
      { constraint: { type: 'json_schema', schema: true } },
    ],
    [
      { type: 'structural_tag', structures: [{ begin: '<a>', schema, end: '</a>' }], triggers: ['<a'] },
      {
        constraint: {
          type: 'structural_tag',
          structures: [{ begin: '<a>', schema, end: '</a>' }],
          triggers: ['<a'],
        },
      },
    ],
    [
      { type: 'structural_tag', format: { type: 'regex', pattern: 'a+' } },
      { constraint: { type: 'format', format: { type: 'regex', pattern: 'a+' } } },
    ],
  ],
  refused: [
    [{ type: 'xml' }, 'one of text, json_object, json_schema', { param: 'response_format.type' }],
    ['json', 'an object'],
    [{ type: 'json_schema' }, 'send a JSON Schema', { param: 'response_format.json_schema.schema' }],
    [
      { type: 'json_schema', json_schema: { name: 'a', schema: 5 } },
      'an object or a boolean',
      { param: 'response_format.json_schema.schema' },
    ],
    [
      { type: 'text', json_schema: { name: 'a', schema: { type: 'object' } } },
      'says nothing where the type is text',
      { param: 'response_format.json_schema' },
    ],
    [{ type: 'structural_tag' }, 'is required', { param: 'response_format.structures' }],
    [
      { type: 'structural_tag', structures: [{ begin: '<a>', end: '' }] },
      'is required',
      { param: 'response_format.triggers' },
    ],
    [
      { type: 'structural_tag', triggers: ['a'], format: { type: 'const_string', value: 'a' } },
      'send one of them',
      { param: 'response_format.format' },
    ],
  ],
});
field('regex', {
  asks: [['[ab]+', { constraint: { type: 'regex', pattern: '[ab]+' } }]],
  refused: [
    ['', 'at least 1 character'],
    ['a', 'regex and response_format both say', { with: { response_format: { type: 'json_object' } } }],
  ],
});
field('ebnf', {
  asks: [['root ::= "a"', { constraint: { type: 'ebnf', grammar: 'root ::= "a"' } }]],
  refused: [
    [5, 'a string'],
    ['root ::= "a"', 'ebnf and regex both say', { with: { regex: 'a' } }],
  ],
});
field('logprobs', {
  neutral: [false],
  asks: [
    [true, { logprobs: 0 }],
    [true, { logprobs: 3 }, { with: { top_logprobs: 3 } }],
  ],
  refused: [[5, 'a boolean']],
});
field('top_logprobs', {
  neutral: [0],
  asks: [[20, { logprobs: 20 }, { with: { logprobs: true } }]],
  refused: [
    [21, 'at most 20, got 21', { with: { logprobs: true } }],
    [-1, 'at least 0'],
    [5, 'needs logprobs to be true'],
    [5, 'needs logprobs to be true', { with: { logprobs: false } }],
  ],
});
field('reasoning_effort', {
  asks: (['medium', 'none', 'minimal', 'low', 'high', 'xhigh', 'max'] as const).map((effort) => [
    effort,
    { reasoning: { effort } },
  ]),
  refused: [
    ['extreme', 'one of none, minimal, low, medium, high, xhigh, max'],
    [0.5, 'one of none'],
  ],
});
field('reasoning', {
  neutral: [{}],
  asks: [
    [{ effort: 'high' }, { reasoning: { effort: 'high' } }],
    [{ enabled: false }, { reasoning: { effort: 'none' } }],
    [{ max_tokens: 64 }, { reasoning: { budget: 64 } }],
    [
      { enabled: true },
      {
        prompt: {
          messages,
          templateKwargs: { thinking: true, enable_thinking: true },
        } as TextRequest['prompt'],
      },
    ],
  ],
  refused: [
    ['high', 'an object'],
    [{ effort: 'extreme' }, 'one of none', { param: 'reasoning.effort' }],
    [
      { effort: 'low' },
      'send one of them',
      { param: 'reasoning.effort', with: { reasoning_effort: 'high' } },
    ],
    [
      { enabled: true },
      'the effort is none',
      { param: 'reasoning.enabled', with: { reasoning_effort: 'none' } },
    ],
    [{ max_tokens: 5 }, 'send one of them', { param: 'reasoning.max_tokens', with: { thinking_budget: 6 } }],
  ],
});
field('thinking_budget', {
  asks: [[64, { reasoning: { budget: 64 } }]],
  refused: [[-1, 'at least 0']],
});
field('thinking_token_budget', {
  asks: [[64, { reasoning: { budget: 64 } }]],
  refused: [[1.5, 'a whole number']],
});
field('separate_reasoning', {
  neutral: [true],
  asks: [[false, { reasoning: { separate: false } }]],
  refused: [['no', 'a boolean']],
});
field('stream_reasoning', {
  neutral: [true],
  asks: [[false, { reasoning: { stream: false } }]],
  refused: [['no', 'a boolean']],
});
field('chat_template_kwargs', {
  neutral: [{}],
  asks: [
    [
      { enable_thinking: false },
      { prompt: { messages, templateKwargs: { enable_thinking: false } } as TextRequest['prompt'] },
    ],
  ],
  refused: [
    ['x', 'an object'],
    [{ a: 1 }, 'input_ids go past it', { with: { input_ids: [1] } }],
  ],
});
const unfinished = [...messages, { role: 'assistant', content: 'It is' }];
field('continue_final_message', {
  neutral: [false],
  asks: [
    [
      true,
      { prompt: { messages: unfinished, continueFinal: true } as TextRequest['prompt'] },
      { with: { messages: unfinished } },
    ],
  ],
  refused: [
    [true, "needs the last message to be the assistant's"],
    [
      true,
      "needs the last message to be the assistant's",
      { with: { messages: [...messages, { role: 'assistant', content: [{ type: 'text', text: 'x' }] }] } },
    ],
    ['yes', 'a boolean'],
  ],
});
const clock = { type: 'function' as const, function: { name: 'clock' } };
field('input_ids', {
  neutral: [[]],
  asks: [
    [[1, 2, 3], { prompt: { ids: [1, 2, 3] }, reasoning: {} }],
    [[1], { prompt: { ids: [1], tools: [clock] } }, { with: { tools: [clock] } }],
    [[1], { prompt: { ids: [1] } }, { with: { messages: undefined } }],
  ],
  refused: [
    [[256], "the model's ids end at 255", { param: 'input_ids.0' }],
    [[-1], 'at least 0', { param: 'input_ids.0' }],
    ['x', 'a list'],
  ],
});
field('stream', { refused: [['yes', 'a boolean']] });
field('stream_options', {
  neutral: [{}],
  refused: [
    [{ include_usage: true }, 'needs stream to be true', { with: { stream: false } }],
    [{ include_usage: 1 }, 'a boolean', { param: 'stream_options.include_usage', with: { stream: true } }],
    [
      { continuous_usage_stats: 1 },
      'a boolean',
      { param: 'stream_options.continuous_usage_stats', with: { stream: true } },
    ],
  ],
});
field('return_progress', {
  neutral: [false],
  refused: [
    [true, 'needs stream to be true', { with: { stream: false } }],
    [1, 'a boolean'],
  ],
});
field('return_hidden_states', {
  neutral: [false],
  asks: [
    [true, { hiddenStates: 'last' }],
    ['last', { hiddenStates: 'last' }],
    ['all', { hiddenStates: 'all' }],
  ],
  refused: [['first', 'one of last, all']],
});
field('return_routed_experts', {
  neutral: [false],
  asks: [[true, { routedExperts: { from: 0 } }]],
  refused: [[1, 'a boolean']],
});
field('routed_experts_start_len', {
  neutral: [0],
  asks: [[2, { routedExperts: { from: 2 } }, { with: { return_routed_experts: true } }]],
  refused: [
    [-1, 'at least 0'],
    [2, 'needs return_routed_experts to be true'],
  ],
});
field('return_cached_tokens_details', { neutral: [false], refused: [[1, 'a boolean']] });
field('return_token_ids', { neutral: [false], refused: [[1, 'a boolean']] });
field('return_prompt_token_ids', {
  neutral: [false],
  asks: [[true, { promptIds: true }]],
  refused: [[1, 'a boolean']],
});

describe('a model name with a colon', () => {
  it('is a served name before it is a LoRA', async () => {
    const { post, model } = await start({}, { names: ['qwen3:8b', 'org/qwen3'] });
    const request = async (name: string) => {
      const { status } = await post(ask('hi', { model: name }));
      return [status, model.requests.at(-1)?.lora];
    };
    expect(await request('qwen3:8b')).toEqual([200, undefined]);
    expect(await request('qwen3:8b:poet')).toEqual([200, 'poet']);
    expect(await request('qwen3:poet')).toEqual([200, 'poet']);
    expect(await request('org/qwen3:')).toEqual([200, undefined]);
  });

  it.each([false, true])('is a 404 where the LoRA is unknown (stream: %s)', async (stream) => {
    const { post } = await start();
    for (const [more, param] of [
      [{ model: 'default:painter' }, 'model'],
      [{ lora_path: 'painter' }, 'lora_path'],
    ] as const) {
      const response = await post(ask('hi', { ...more, stream }));
      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({
        error: { code: 'model_not_found', param, message: expect.stringContaining('painter') },
      });
    }
  });
});
