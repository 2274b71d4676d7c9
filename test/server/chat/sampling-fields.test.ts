// The fields of sampling and of the model to use.

import { field } from '../field-test.ts';

field('max_completion_tokens', {
  asks: [
    [1, { maxTokens: 1 }],
    [5, { maxTokens: 5 }, { with: { max_tokens: 9 } }],
  ],
  refused: [
    [0, 'at least 1, got 0; leave it out'],
    [-1, 'at least 1, got -1'],
    [1.5, 'a whole number'],
    ['8', 'a number, got "8"'],
  ],
});
field('max_tokens', {
  asks: [[7, { maxTokens: 7 }]],
  refused: [
    [0, 'at least 1, got 0'],
    [-5, 'at least 1, got -5'],
  ],
});
field('temperature', {
  asks: [
    [0, { temperature: 0 }],
    [1, { temperature: 1 }],
    [2, { temperature: 2 }],
  ],
  refused: [
    [2.01, 'at most 2, got 2.01'],
    [-0.1, 'at least 0, got -0.1'],
    ['1', 'a number'],
  ],
});
field('top_p', {
  asks: [
    [0.5, { topP: 0.5 }],
    [1, { topP: 1 }],
  ],
  refused: [
    [0, 'greater than 0, got 0'],
    [1.5, 'at most 1, got 1.5'],
  ],
});
field('top_k', {
  asks: [
    [-1, { topK: -1 }],
    [0, { topK: 0 }],
    [40, { topK: 40 }],
  ],
  refused: [
    [-2, 'at least -1, got -2'],
    [1.5, 'a whole number'],
  ],
});
field('min_p', {
  asks: [
    [0, { minP: 0 }],
    [0.1, { minP: 0.1 }],
  ],
  refused: [
    [1.1, 'at most 1'],
    [-0.1, 'at least 0'],
  ],
});
field('n', {
  neutral: [1],
  asks: [
    [2, { n: 2 }],
    [128, { n: 128 }],
  ],
  refused: [
    [0, 'at least 1, got 0'],
    [129, 'at most 128, got 129'],
  ],
});
field('seed', {
  asks: [
    [0, { seed: 0 }],
    [-7, { seed: -7 }],
    [Number.MAX_SAFE_INTEGER, { seed: Number.MAX_SAFE_INTEGER }],
  ],
  refused: [
    [0.5, 'a whole number'],
    [1e300, 'at most'],
  ],
});
field('frequency_penalty', {
  neutral: [0],
  asks: [
    [-2, { frequencyPenalty: -2 }],
    [2, { frequencyPenalty: 2 }],
  ],
  refused: [
    [2.1, 'at most 2, got 2.1'],
    [-2.1, 'at least -2, got -2.1'],
    ['1', 'a number'],
  ],
});
field('presence_penalty', {
  neutral: [0],
  asks: [
    [-2, { presencePenalty: -2 }],
    [0.5, { presencePenalty: 0.5 }],
  ],
  refused: [
    [2.1, 'at most 2'],
    [-2.1, 'at least -2'],
  ],
});
field('repetition_penalty', {
  asks: [
    [1, { repetitionPenalty: 1 }],
    [0.5, { repetitionPenalty: 0.5 }],
    [2, { repetitionPenalty: 2 }],
  ],
  refused: [
    [0, 'greater than 0, got 0'],
    [2.1, 'at most 2'],
  ],
});
field('logit_bias', {
  neutral: [{}],
  asks: [[{ 0: -100, 255: 100 }, { logitBias: { 0: -100, 255: 100 } }]],
  refused: [
    ['x', 'an object'],
    [{ 1: 100.5 }, 'at most 100', { param: 'logit_bias.1' }],
    [{ 1: -101 }, 'at least -100', { param: 'logit_bias.1' }],
    [{ x: 1 }, 'keys are whole numbers', { param: 'logit_bias.x' }],
    [{ '005': 1 }, 'keys are whole numbers', { param: 'logit_bias.005' }],
    [{ 256: 1 }, "the model's ids end at 255", { param: 'logit_bias.256' }],
    [Object.fromEntries(Array.from({ length: 1025 }, (_, id) => [id, 1])), 'at most 1024'],
  ],
});
field('custom_logit_processor', {
  asks: [
    [
      '{"name":"disallowed_tokens","tokens":[1,2]}',
      { processors: [{ name: 'disallowed_tokens', tokens: [1, 2] }] },
    ],
    [
      '[{"name":"allowed_tokens","tokens":[1]},{"name":"bad_words","words":["never"]}]',
      {
        processors: [
          { name: 'allowed_tokens', tokens: [1] },
          { name: 'bad_words', words: ['never'] },
        ],
      },
    ],
    [
      '{"name":"no_repeat_ngram","size":3,"window":90}',
      { processors: [{ name: 'no_repeat_ngram', size: 3, window: 90 }] },
    ],
    ['{"name":"wgsl","source":"fn process"}', { processors: [{ name: 'wgsl', source: 'fn process' }] }],
  ],
  refused: [
    ['DisallowedTokens', 'must be JSON text as {"name"'],
    ['{"callable":"80049526"}', 'pickled Python class', { code: 'unsupported' }],
    ['{"name":"delete_everything"}', 'must name one of allowed_tokens'],
    ['7', 'must name one of'],
    ['{"name":"bad_words"}', 'is required', { param: 'custom_logit_processor.0.words' }],
    ['{"name":"allowed_tokens","tokens":[-1]}', 'at least 0', { param: 'custom_logit_processor.0.tokens.0' }],
    ['{"name":"bad_words","words":["a"],"weight":2}', 'weight', { param: 'custom_logit_processor.0' }],
    [{ name: 'bad_words' }, 'a string'],
  ],
});
field('custom_params', {
  neutral: [{}],
  asks: [
    [{ thinking_budget: 16 }, { processors: [{ name: 'thinking_budget', tokens: 16 }] }],
    [
      { token_ids: [4] },
      { processors: [{ name: 'disallowed_tokens', tokens: [4] }] },
      { with: { custom_logit_processor: '{"name":"disallowed_tokens"}' } },
    ],
    [
      { ngram_size: 3, window_size: 50 },
      { processors: [{ name: 'no_repeat_ngram', size: 3, window: 50 }] },
      { with: { custom_logit_processor: '{"name":"no_repeat_ngram"}' } },
    ],
  ],
  refused: [
    ['x', 'an object'],
    [{ mood: 1 }, 'means nothing to a request without', { param: 'custom_params.mood' }],
    [
      { mood: 1 },
      'means nothing to custom_logit_processor',
      {
        param: 'custom_params.mood',
        with: { custom_logit_processor: '{"name":"bad_words","words":["a"]}' },
      },
    ],
  ],
});
field('allowed_token_ids', {
  neutral: [[]],
  asks: [[[1, 2], { processors: [{ name: 'allowed_tokens', tokens: [1, 2] }] }]],
  refused: [[[256], "the model's ids end at 255", { param: 'allowed_token_ids.0' }]],
});
field('bad_words', {
  neutral: [[]],
  asks: [[['never'], { processors: [{ name: 'bad_words', words: ['never'] }] }]],
  refused: [
    [[''], 'at least 1 character', { param: 'bad_words.0' }],
    ['never', 'a list'],
  ],
});
field('lora_path', {
  asks: [
    ['poet', { lora: 'poet' }],
    ['other', { lora: 'poet' }, { with: { model: 'default:poet' } }],
  ],
  refused: [['', 'at least 1 character']],
});
field('speculative', {
  neutral: [true],
  asks: [[false, { speculative: false }]],
  refused: [[1, 'a boolean']],
});

field('prediction', {
  asks: [
    [{ type: 'content', content: 'a file' }, { prediction: 'a file' }],
    [
      {
        type: 'content',
        content: [
          { type: 'text', text: 'a ' },
          { type: 'text', text: 'file' },
        ],
      },
      { prediction: 'a file' },
    ],
  ],
  refused: [
    [{ type: 'content' }, 'is required', { param: 'prediction.content' }],
    [{ type: 'other', content: 'x' }, 'content', { param: 'prediction.type' }],
  ],
});

field('priority', {
  neutral: [0],
  asks: [
    [5, { priority: 5 }],
    [-5, { priority: -5 }],
  ],
  refused: [[1.5, 'a whole number']],
});
field('rid', {
  asks: [['mine-1', { id: 'mine-1' }]],
  refused: [
    ['', 'at least 1 character'],
    ['x'.repeat(257), 'at most 256 characters'],
  ],
});
field('queue_timeout', {
  asks: [[0.5, { timeouts: { queue: 500 } }]],
  refused: [
    [0, 'greater than 0'],
    ['1s', 'a number'],
  ],
});
field('request_timeout', {
  asks: [[2, { timeouts: { queue: 1000, total: 2000 } }, { with: { queue_timeout: 1 } }]],
  refused: [[-1, 'greater than 0']],
});
field('cache_salt', {
  asks: [['tenant', { cacheSalt: '["tenant",null]' }]],
  refused: [['', 'at least 1 character']],
});
field('extra_key', {
  asks: [
    ['key', { cacheSalt: '[null,"key"]' }],
    ['key', { cacheSalt: '["tenant","key"]' }, { with: { cache_salt: 'tenant' } }],
  ],
  refused: [[5, 'a string']],
});
