// The fields of stops.

import { field } from '../field-test.ts';

const many = (count: number) => Array.from({ length: count }, () => 'a');

field('stop', {
  neutral: [[]],
  asks: [
    ['x', { stop: ['x'] }],
    [many(16), { stop: many(16) }],
  ],
  refused: [
    ['', 'at least 1 character'],
    [['a', ''], 'at least 1 character', { param: 'stop.1' }],
    [many(17), 'at most 16 entries'],
    [5, 'a string or a list'],
  ],
});
field('stop_token_ids', {
  neutral: [[]],
  asks: [[[3, 255], { stopTokenIds: [3, 255] }]],
  refused: [
    [[1, -1], 'at least 0', { param: 'stop_token_ids.1' }],
    [[256], "the model's ids end at 255", { param: 'stop_token_ids.0' }],
  ],
});
field('stop_regex', {
  neutral: [[]],
  asks: [
    ['[.!?]', { stopRegex: ['[.!?]'] }],
    [['a+', 'b'], { stopRegex: ['a+', 'b'] }],
  ],
  refused: [
    ['', 'at least 1 character'],
    [many(17), 'at most 16 entries'],
    [5, 'a string or a list'],
  ],
});
field('min_tokens', {
  neutral: [0],
  asks: [
    [5, { minTokens: 5 }],
    [5, { minTokens: 5, maxTokens: 5 }, { with: { max_tokens: 5 } }],
  ],
  refused: [
    [-1, 'at least 0, got -1'],
    [1.5, 'a whole number'],
    [6, 'at most max_tokens, which is 5, got 6', { with: { max_tokens: 5 } }],
    [6, 'at most max_completion_tokens, which is 5', { with: { max_completion_tokens: 5 } }],
  ],
});
field('ignore_eos', {
  neutral: [false],
  asks: [[true, { ignoreEos: true }]],
  refused: [[1, 'a boolean']],
});
field('no_stop_trim', {
  neutral: [false],
  asks: [[true, { noStopTrim: true }]],
  refused: [['yes', 'a boolean']],
});
field('skip_special_tokens', {
  neutral: [true],
  asks: [[false, { skipSpecialTokens: false }]],
  refused: [[0, 'a boolean']],
});
