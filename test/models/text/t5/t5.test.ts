// The encoders of T5 and UMT5 against transformers.

import { describe, expect, it } from 'vitest';
import { distanceBuckets, readT5Config } from '../../../../src/models/text/t5/t5-config.ts';
import { t5 } from '../../../../src/models/text/t5/t5.ts';
import { describeGoldens, expectAgreement, load } from '../../image-golden.ts';

describeGoldens(['t5', 't5-masked', 'umt5'], async (golden, device, run) => {
  const config = readT5Config(golden.config);
  const model = await load(device, golden, (weights) => t5(config, weights));
  const wanted = golden.outputs.get('last_hidden_state')!;
  const all = golden.inputs.get('input_ids')!.values;
  const given = all.slice(0, wanted.shape[1]);
  const isMasked = given.length < all.length && !config.biasOfEach; // behind the words and one token of padding
  const ids = device.tensor('step', 'ids', [1, given.length], Uint32Array.from(given));
  const classes = distanceBuckets(config, given.length);
  const buckets = device.tensor('step', 'buckets', [1, classes.length], classes);
  const keys = device.tensor('step', 'words', [1], Uint32Array.of(given.length - 1));
  const { values } = await run((tape) => [model(tape, { ids, buckets, ...(isMasked && { keys }) })]);
  expectAgreement(values[0]!, wanted);
});

describe('distances in T5', () => {
  it('have the classes of the published encoders', () => {
    // transformers' T5Attention._relative_position_bucket of −200, −127 … for 32 classes up to 128
    const classes = distanceBuckets(readT5Config({ feed_forward_proj: 'gated-gelu' }), 201);
    const at = [-200, -127, -64, -16, -8, -7, -1, 0, 1, 7, 8, 11, 12, 31, 32, 91, 128, 200];
    expect(at.map((distance) => classes[distance + 200])).toEqual([
      15, 15, 14, 10, 8, 7, 1, 0, 17, 23, 24, 24, 25, 27, 28, 31, 31, 31,
    ]);
  });
});

describe('configurations of T5', () => {
  it.each([
    [
      { feed_forward_proj: 'gated-tanh' },
      'unsupported',
      'feed_forward_proj "gated-tanh" is not built; choose a checkpoint that has "relu" or "gelu" or "gelu_new" or "silu" or "gated-gelu" or "gated-gelu_new" or "gated-silu"',
    ],
    [
      { feed_forward_proj: 'gated-gelu', dense_act_fn: 'relu' },
      'unsupported',
      'dense_act_fn "relu" is not built; choose a checkpoint that has "gelu_new"',
    ],
    [
      { feed_forward_proj: 'gated-gelu', relative_attention_num_buckets: 30 },
      'bad_checkpoint',
      'relative_attention_num_buckets is 30, and relative_attention_max_distance 128: a multiple of four is needed, and a distance above a quarter of it; take the values that the model was published with',
    ],
  ])('%j is refused', (config, code, message) => {
    expect(() => readT5Config(config)).toThrow(
      expect.objectContaining({ code, message: `config.json: ${message}` }) as Error,
    );
  });
});
