// Valid requests for every route that takes a body; the fuzzer damages their fields. They are small, so that generation takes little time.

import { user } from './chat-loads.mjs';
import { EBNFS, REGEXES, SCHEMAS, STRUCTURE, TOOLS } from './grammars.mjs';

const chat = { model: 'default', messages: user('hi'), max_tokens: 4 };
const call = { id: 'call_12345', type: 'function', function: { name: 'add', arguments: '{"a":1,"b":2}' } };
const WGSL = 'fn process(token: u32, logit: f32, position: u32, count: u32) -> f32 { return logit * 0.5; }';

const CHATS = [
  {
    ...chat,
    temperature: 1,
    top_p: 0.9,
    top_k: 5,
    n: 2,
    seed: 1,
    stop: ['x'],
    logit_bias: { 5: 1 },
    stream: true,
    stream_options: { include_usage: true },
  },
  {
    ...chat,
    logprobs: true,
    top_logprobs: 3,
    min_tokens: 2,
    stop_regex: 'a+',
    rid: 'fuzz',
    priority: 1,
    cache_salt: 's',
    return_token_ids: true,
  },
  { ...chat, response_format: { type: 'json_schema', json_schema: { name: 'x', schema: SCHEMAS[0] } } },
  { ...chat, response_format: STRUCTURE, reasoning_effort: 'low', thinking_budget: 3 },
  { ...chat, regex: REGEXES[0], max_tokens: 8 },
  { ...chat, ebnf: EBNFS[0][0], max_tokens: 8 },
  {
    ...chat,
    tools: TOOLS,
    tool_choice: { type: 'function', function: { name: 'add' } },
    parallel_tool_calls: false,
  },
  {
    ...chat,
    messages: [
      ...user('hi'),
      { role: 'assistant', content: '', tool_calls: [call] },
      { role: 'tool', tool_call_id: call.id, content: '3' },
    ],
  },
  {
    ...chat,
    messages: [{ role: 'system', content: [{ type: 'text', text: 'Be brief.' }] }, ...user('hi')],
    chat_template_kwargs: { enable_thinking: true },
  },
  {
    ...chat,
    custom_logit_processor: JSON.stringify({ name: 'no_repeat_ngram', size: 2 }),
    bad_words: ['the'],
  },
  { ...chat, custom_logit_processor: JSON.stringify({ name: 'wgsl', source: WGSL }) },
  { ...chat, return_hidden_states: 'last', input_ids: [5, 6, 7], echo: false },
];

const IMAGE = {
  prompt: 'a house',
  num_inference_steps: 1,
  n: 1,
  size: '64x64',
  seed: 1,
  guidance_scale: 1,
  output_format: 'png',
};

const SPEECH = { model: 'default', file: 'a', prompt: 'hi', temperature: 0.5, seed: 1, user: 'me' };

const RESPONSES = [
  {
    model: 'default',
    input: [{ role: 'user', content: [{ type: 'input_text', text: 'hi' }] }],
    max_output_tokens: 4,
    text: { format: { type: 'text' } },
  },
  {
    model: 'default',
    input: 'hi',
    max_output_tokens: 4,
    stream: true,
    instructions: 'Be brief.',
    reasoning: { effort: 'low' },
  },
  {
    model: 'default',
    input: [
      ...user('hi'),
      { type: 'function_call', call_id: 'c1', name: 'add', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: '3' },
    ],
    max_output_tokens: 4,
  },
  {
    model: 'default',
    input: 'hi',
    max_output_tokens: 8,
    tools: [
      { type: 'custom', name: 'c', format: { type: 'grammar', syntax: 'lark', definition: 'start: "a"' } },
    ],
    tool_choice: 'required',
  },
  {
    model: 'default',
    input: 'hi',
    max_output_tokens: 4,
    text: { format: { type: 'json_schema', name: 'x', schema: SCHEMAS[0], strict: true } },
  },
];

const MESSAGES = [
  {
    model: 'default',
    max_tokens: 4,
    messages: user([{ type: 'text', text: 'hi' }]),
    system: 'x',
    tool_choice: { type: 'auto' },
    tools: [{ name: 'a', input_schema: { type: 'object' } }],
  },
  {
    model: 'default',
    max_tokens: 4,
    stream: true,
    messages: user('hi'),
    thinking: { type: 'enabled', budget_tokens: 2 },
    stop_sequences: ['x'],
  },
  {
    model: 'default',
    max_tokens: 4,
    messages: [
      ...user('hi'),
      { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'a', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'x' }] },
    ],
  },
];

const OLLAMA = { model: 'default', options: { num_predict: 4, temperature: 0.5, seed: 1, stop: ['x'] } };

/** By route. */
export const BODIES = {
  '/v1/chat/completions': CHATS,
  '/v1/completions': [
    { model: 'default', prompt: ['a', 'b'], max_tokens: 3, logprobs: 2, n: 2 },
    { model: 'default', prompt: [[5, 6], [7]], max_tokens: 3, echo: true, stream: true },
    { model: 'default', prompt: 'a', suffix: 'b', max_tokens: 3, best_of: 1 },
  ],
  '/v1/responses': RESPONSES,
  '/v1/messages': MESSAGES,
  '/v1/messages/count_tokens': [{ model: 'default', messages: user('hi') }],
  '/v1/embeddings': [
    { model: 'default', input: ['a'], dimensions: 4 },
    { model: 'default', input: ['a', 'b'], task: 'retrieval.query' },
    { model: 'default', input: [[1, 2, 3]], encoding_format: 'base64' },
  ],
  '/v1/rerank': [
    { model: 'default', query: 'a', documents: ['b', { text: 'c' }], top_n: 1, return_documents: false },
    { query: 'a', texts: ['b'], return_text: true, raw_scores: true, truncate: true },
    { query: 'a', documents: ['b'], instruct: 'c' },
    { query: 'a', documents: ['b'], instruction: 'd' },
  ],
  '/rerank': [{ query: 'a', documents: ['b'], truncate_prompt_tokens: 8 }],
  '/v2/rerank': [{ model: 'default', query: 'a', documents: ['b'] }],
  '/v1/score': [
    { model: 'default', text_1: 'a', text_2: ['b', 'c'], use_activation: false },
    { queries: ['a', 'b'], documents: ['c', 'd'] },
  ],
  '/score': [{ text_1: 'a', text_2: 'b' }],
  '/v1/classify': [{ model: 'default', input: ['a', 'b'], truncate_prompt_tokens: -1 }],
  '/classify': [{ input: [[1, 2], [3]] }],
  '/pooling': [{ model: 'default', input: 'a', task: 'embed', dimensions: 4, encoding_format: 'base64' }],
  '/tokenize': [
    { prompt: 'a b', model: 'default', add_special_tokens: true },
    { messages: user('hi'), tools: TOOLS },
  ],
  '/v1/tokenize': [{ prompt: 'a b' }],
  '/detokenize': [{ tokens: [1, 2, 3], skip_special_tokens: false }],
  '/v1/detokenize': [{ tokens: [5] }],
  '/v1/images/generations': [
    IMAGE,
    { ...IMAGE, stream: true, partial_images: 1, scheduler: 'euler', negative_prompt: 'x' },
    { ...IMAGE, response_format: 'url', diffusers_kwargs: { eta: 0.5 }, guidance_rescale: 0.5, seed: [1, 2] },
  ],
  '/v1/images/edits': [{ ...IMAGE, num_inference_steps: 2, strength: 0.5 }],
  '/v1/audio/transcriptions': [
    { ...SPEECH, response_format: 'verbose_json', timestamp_granularities: ['word'], language: 'en' },
    { ...SPEECH, stream: true, chunking_strategy: 'auto', include: [], known_speaker_names: [] },
    { ...SPEECH, known_speaker_references: [] },
  ],
  '/v1/audio/translations': [{ ...SPEECH, response_format: 'srt' }],
  '/v1/videos': [{ ...IMAGE, num_frames: 5, fps: 8, output_format: 'webp', extra_body: { flow_shift: 3 } }],
  '/v1/files': [{ purpose: 'batch', expires_after: { anchor: 'created_at', seconds: 3600 } }],
  '/v1/batches': [
    {
      input_file_id: 'nobody',
      endpoint: '/v1/chat/completions',
      completion_window: '1h',
      metadata: { a: 'b' },
    },
  ],
  // The server of the load has a list that does not change: it refuses these.
  '/models': [{ model: 'nobody/x' }],
  '/v1/models': [{ model: 'nobody/x' }],
  '/models/load': [{ model: 'default' }],
  '/v1/models/load': [{ model: 'default' }],
  '/models/unload': [{ model: 'default' }],
  '/v1/models/unload': [{ model: 'default' }],
  '/api/pull': [{ model: 'nobody', stream: false }],
  '/flush_cache': [{}],
  '/abort_request': [{ rid: 'nobody' }],
  '/load_lora_adapter': [{ lora_name: 'x', lora_path: '/nowhere' }],
  '/unload_lora_adapter': [{ lora_name: 'nobody' }],
  '/api/chat': [
    { ...OLLAMA, messages: user('hi') },
    { ...OLLAMA, messages: user('hi'), stream: false, format: SCHEMAS[0], think: true },
  ],
  '/api/generate': [
    { ...OLLAMA, prompt: 'hi', stream: false },
    { ...OLLAMA, prompt: 'hi', raw: true },
  ],
  '/api/embed': [{ model: 'default', input: ['a'] }],
  '/api/embeddings': [{ model: 'default', prompt: 'a' }],
  '/api/show': [{ model: 'default' }],
};

/** A request that could take minutes by right is asked for less: fuzzing looks for what is wrong, not for what is long. */
const MOST = {
  max_tokens: 64,
  max_completion_tokens: 64,
  max_output_tokens: 64,
  num_predict: 64,
  min_tokens: 8,
  n: 3,
  best_of: 3,
  num_inference_steps: 3,
  width: 96,
  height: 96,
};

const SMALL_SIZE = /^"\d{1,2}x\d{1,2}"$/;

/** Where a request of text says how much it generates at most, by the beginning of its route. */
const LIMIT_FIELDS = [
  ['/v1/chat/completions', 'max_tokens'],
  ['/v1/completions', 'max_tokens'],
  ['/v1/responses', 'max_output_tokens'],
];

/** To Ollama, no number and one below 0 mean as many as the context takes. */
const endingAt = (most) =>
  most === undefined || most === null || (typeof most === 'number' && most < 0) ? 16 : most;

/** In place: what is asked for beyond these is cut, and what is left out is said. */
export function keepSmall(body, path) {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  for (const [name, most] of Object.entries(MOST)) {
    const value = body[name];
    if (typeof value !== 'number') continue;
    const isRefused = !/tokens|predict/.test(name) && value >= 1e5;
    if (value > most && !isRefused) body[name] = most;
  }
  for (const [route, name] of LIMIT_FIELDS)
    if (path === route && body.max_completion_tokens === undefined) body[name] ??= 16;
  if (path === '/api/chat' || path === '/api/generate') {
    body.options ??= {};
    if (typeof body.options === 'object')
      keepSmall(Object.assign(body.options, { num_predict: endingAt(body.options.num_predict) }), '');
  }
  if (/^\/v1\/(images|videos)/.test(path)) {
    body.num_inference_steps ??= 1;
    if (body.width === undefined && body.height === undefined && !SMALL_SIZE.test(JSON.stringify(body.size)))
      body.size = '64x64';
  }
  return body;
}
