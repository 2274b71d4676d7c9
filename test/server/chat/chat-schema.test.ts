import { describe, expect, it } from 'vitest';
import { RequestError } from '../../../src/server/http/errors.ts';
import { CHAT_FIELDS, validateChat } from '../../../src/server/chat/chat-schema.ts';
import { checkTokenIds } from '../../../src/server/text/generation-request.ts';
import { fakeInfo } from '../fake-model.ts';
import { ask } from '../harness.ts';

function refusal(body: unknown, strict = false): { code: string; param: string | null; message: string } {
  try {
    const { body: known } = validateChat(body, strict);
    checkTokenIds(known, fakeInfo);
  } catch (error) {
    if (error instanceof RequestError)
      return { code: error.code, param: error.param, message: error.message };
    throw error;
  }
  throw new Error(`accepted ${JSON.stringify(body)}`);
}

/** The contract's table of request fields. */
const CONTRACT =
  'messages model max_completion_tokens max_tokens temperature top_p top_k min_p n seed stop stop_token_ids frequency_penalty presence_penalty repetition_penalty response_format regex ebnf tools tool_choice logprobs top_logprobs logit_bias stream stream_options max_dynamic_patch min_dynamic_patch reasoning_effort separate_reasoning stream_reasoning ignore_eos skip_special_tokens no_stop_trim stop_regex min_tokens continue_final_message lora_path chat_template_kwargs custom_logit_processor return_hidden_states return_routed_experts return_cached_tokens_details'.split(
    ' ',
  );

const named = (status: string): string[] =>
  Object.entries(CHAT_FIELDS).flatMap(([name, field]) => (field.status === status ? [name] : []));

describe('the contract, field by field', () => {
  it('has every field of the request table', () => {
    expect(CONTRACT.filter((name) => !(name in CHAT_FIELDS))).toEqual([]);
  });

  it.each(named('honoured').filter((name) => name !== 'messages' && name !== 'model'))(
    '%s passes as null',
    (name) => {
      const { body } = validateChat(ask('hi', { [name]: null }), true);
      expect(body).not.toHaveProperty(name, null);
    },
  );
});

describe('values at their bounds together', () => {
  it.each<[object]>([
    [{ temperature: 0, top_p: 1, top_k: 0, min_p: 1, n: 128, max_tokens: 1, seed: -1 }],
    [{ temperature: 2, top_k: -1, stop: [], stop_token_ids: [], logit_bias: {} }],
    [{ temperature: Number.MIN_VALUE, min_tokens: 5, max_tokens: 5, logprobs: true, top_logprobs: 20 }],
    [{ stream: true, stream_options: { include_usage: null } }],
    [{ stream: false, stream_options: {} }],
  ])('%j passes', (more) => {
    expect(validateChat(ask('hi', more), true).ignored).toEqual([]);
  });
});

it('a number that was rounded when it was read is not shown', () => {
  const given = JSON.parse('{"seed": 9007199254740993}') as object;
  expect(() => validateChat(ask('hi', given), true)).toThrow(/^seed must be at most 9007199254740991$/);
  expect(() => validateChat(ask('hi', { n: 500 }), true)).toThrow(/, got 500$/);
});

describe('messages of a chat request', () => {
  it('may have roles in any case', () => {
    const messages = [
      { role: 'System', content: 'a' },
      { role: 'USER', content: 'b' },
    ];
    const { body } = validateChat({ model: 'default', messages }, true);
    expect(body.messages?.map(({ role }) => role)).toEqual(['system', 'user']);
  });

  const call = (args: unknown) => [{ id: 'c', type: 'function', function: { name: 'f', arguments: args } }];

  it.each<[unknown, string, string]>([
    ['x', 'messages', 'invalid_type'],
    [[], 'messages', 'invalid_value'],
    [['x'], 'messages.0', 'invalid_type'],
    [[{ content: 'x' }], 'messages.0.role', 'missing_required_parameter'],
    [[{ role: 'robot', content: 'x' }], 'messages.0.role', 'invalid_value'],
    [[{ role: 'user' }], 'messages.0.content', 'missing_required_parameter'],
    [[{ role: 'user', content: null }], 'messages.0.content', 'invalid_type'],
    [[{ role: 'user', content: 5 }], 'messages.0.content', 'invalid_type'],
    [[{ role: 'user', content: [{ text: 'x' }] }], 'messages.0.content.0.type', 'missing_required_parameter'],
    [
      [{ role: 'user', content: [{ type: 'text' }] }],
      'messages.0.content.0.text',
      'missing_required_parameter',
    ],
    [[{ role: 'user', content: [{ type: 'smell' }] }], 'messages.0.content.0.type', 'invalid_value'],
    [[{ role: 'user', content: 'x', tool_calls: call('{}') }], 'messages.0.tool_calls', 'invalid_value'],
    [
      [{ role: 'assistant', tool_calls: [{}] }],
      'messages.0.tool_calls.0.function',
      'missing_required_parameter',
    ],
    [
      [{ role: 'assistant', tool_calls: call([1]) }],
      'messages.0.tool_calls.0.function.arguments',
      'invalid_type',
    ],
    [[{ role: 'assistant', content: 'x', tool_calls: 'x' }], 'messages.0.tool_calls', 'invalid_type'],
    [[{ role: 'user', content: 'x', name: 5 }], 'messages.0.name', 'invalid_type'],
  ])('%j is refused at %s', (messages, param, code) => {
    expect(refusal({ model: 'm', messages })).toMatchObject({ param, code });
  });

  it('a call passes whatever the model wrote for its arguments', () => {
    const history = (args: unknown) => ({
      model: 'm',
      messages: [{ role: 'assistant', tool_calls: call(args) }],
    });
    for (const args of ['', ' ', '{}', '{"city', '"sky"'])
      expect(() => validateChat(history(args), true)).not.toThrow();
  });

  it.each<[object, string, string]>([
    [{ type: 'image_url' }, 'image_url', 'missing_required_parameter'],
    [{ type: 'image_url', image_url: 5 }, 'image_url', 'invalid_type'],
    [{ type: 'image_url', image_url: {} }, 'image_url.url', 'missing_required_parameter'],
    [{ type: 'image_url', image_url: { url: '' } }, 'image_url.url', 'invalid_value'],
    [{ type: 'image_url', image_url: { url: 'a', detail: 'most' } }, 'image_url.detail', 'invalid_value'],
    [
      { type: 'image_url', image_url: { url: 'a', max_dynamic_patch: 0 } },
      'image_url.max_dynamic_patch',
      'invalid_value',
    ],
    [
      { type: 'video_url', video_url: { url: 'a', min_dynamic_patch: 1.5 } },
      'video_url.min_dynamic_patch',
      'invalid_type',
    ],
    [{ type: 'audio_url', audio_url: null }, 'audio_url', 'invalid_type'],
    [
      { type: 'input_audio', input_audio: { format: 'wav' } },
      'input_audio.data',
      'missing_required_parameter',
    ],
    [{ type: 'file', file: { file_id: 'f' } }, 'file.file_data', 'missing_required_parameter'],
  ])('%j is refused at %s', (part, param, code) => {
    const content = [{ type: 'text', text: 'look' }, part];
    const messages = [
      { role: 'system', content: 'x' },
      { role: 'user', content },
    ];
    expect(refusal({ model: 'm', messages })).toMatchObject({ param: `messages.1.content.1.${param}`, code });
  });

  it('knows the members of media', () => {
    const content = [
      { type: 'image_url', image_url: { url: 'a', detail: 'low', max_dynamic_patch: 4, shape: 'round' } },
      { type: 'input_audio', input_audio: { data: 'a', format: 'wav' } },
      { type: 'file', file: { file_data: 'a', filename: 'b' } },
    ];
    expect(validateChat({ model: 'm', messages: [{ role: 'user', content }] }, false).ignored).toEqual([
      'messages.0.content.0.image_url.shape',
    ]);
  });

  it('passes what the roles allow', () => {
    const messages = [
      { role: 'system', content: [] },
      { role: 'assistant', content: null, tool_calls: call({ a: 1 }) },
      { role: 'assistant', tool_calls: call('{}') },
      { role: 'assistant', content: 'x', tool_calls: null, refusal: null, annotations: [] },
      { role: 'tool', content: 'x' },
    ];
    expect(validateChat({ model: 'm', messages }, true).ignored).toEqual([]);
  });
});

describe('unknown names in a chat request', () => {
  const body = {
    ...ask('hi', { stream: true, stream_options: { pace: 1 }, wibble: 1, __proto__: null }),
    messages: [{ role: 'user', content: 'hi', mood: 'good' }],
  };

  it('are listed', () => {
    expect(validateChat(body, false).ignored).toEqual(['wibble', 'messages.0.mood', 'stream_options.pace']);
  });
  it('are refused where the server is strict', () => {
    expect(refusal(body, true)).toMatchObject({ code: 'unknown_parameter', param: 'wibble' });
    expect(refusal({ model: 'm', messages: body.messages }, true)).toMatchObject({
      code: 'unknown_parameter',
      param: 'messages.0.mood',
    });
    expect(
      refusal(JSON.parse('{"model":"m","messages":[{"role":"user","content":"x"}],"constructor":1}'), true),
    ).toMatchObject({ param: 'constructor' });
  });
});

it.each([null, [], 'x', 5])('a body of %j is refused', (body) => {
  expect(refusal(body)).toMatchObject({ code: 'invalid_type', param: null });
});

it.each(['model', 'messages'])('the field %s is required', (name) => {
  expect(refusal({ ...ask('hi'), [name]: undefined })).toMatchObject({
    code: 'missing_required_parameter',
    param: name,
  });
});

it('a missing model is refused with the name to send', () => {
  expect(refusal({ messages: [{ role: 'user', content: 'hi' }] }).message).toContain('"default"');
});
