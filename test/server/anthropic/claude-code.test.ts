// Requests of Claude Code to /v1/messages, for a model without reasoning.

import { expect, it } from 'vitest';
import { HELLO, startMessages } from './anthropic-harness.ts';

it('the billing header of Claude Code is left out of the system message', async () => {
  const { post, model } = await startMessages(HELLO);
  const messages = [{ role: 'user', content: 'Hi' }];
  const billed = (cch: string) => ({
    type: 'text',
    text: `x-anthropic-billing-header: cc_version=2.1.177.01c; cc_entrypoint=cli; cch=${cch};`,
  });
  const rules = { type: 'text', text: 'You write code.', cache_control: { type: 'ephemeral' } };
  await post({ messages, system: [billed('36ee5'), rules] });
  await post({ messages, system: [billed('0aaa9')] });
  expect(model.requests.map(({ prompt }) => prompt)).toEqual([
    { messages: [{ role: 'system', content: 'You write code.' }, ...messages] },
    { messages },
  ]);
});

it('requests of Claude Code pass to any model', async () => {
  const { post, model } = await startMessages(HELLO);
  const found = [{ type: 'tool_reference', tool_name: 'f' }];
  const request = {
    messages: [
      { role: 'user', content: 'Hi' },
      {
        role: 'system',
        content: [
          { type: 'tool_addition', tool: { name: 'f' } },
          { type: 'text', text: 'Now.' },
        ],
      },
      { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'search', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: found }] },
    ],
    thinking: { type: 'enabled', budget_tokens: 31999 },
    output_config: { effort: 'high' },
    context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
  };
  Object.assign(model, { info: { ...model.info, outputFormat: { tools: 'hermes', reasoning: null } } });
  expect(await post(request)).toMatchObject({ status: 200 });
  await post({ messages: [{ role: 'user', content: 'Hi' }], thinking: { type: 'disabled' } });
  expect(model.requests.map(({ reasoning }) => reasoning)).toEqual([undefined, { effort: 'none' }]);
  expect(model.requests[0]!.prompt).toMatchObject({
    messages: [{}, { role: 'system', content: 'Now.' }, {}, { role: 'tool', content: 'f' }],
  });
});

it('an image that is refused has its place in the error, as Claude Code reads it', async () => {
  const { post } = await startMessages(HELLO);
  const content = [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: '' } }];
  const { status, body } = await post({
    messages: [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'look', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content }] },
    ],
  });
  expect(status).toBe(400);
  // The regular expression with which it reads errors.
  const place =
    /messages[.[](\d+)[\].]+content[.[](\d+)[\].]+(?:tool_result[.[]content[.[]\d+[\].]+)?(image|document|pdf)/;
  expect(place.exec(body.error!.message)?.slice(1)).toEqual(['2', '0', 'image']);
});
