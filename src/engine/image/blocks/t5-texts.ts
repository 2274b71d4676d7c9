// States of texts by the encoder of T5, for families whose denoisers read them as conditions.

import type { Tokenizer } from '../../../files/tokenizer/tokenizer.ts';
import type { Tensor } from '../../../gpu/tensor.ts';
import { takeRows } from '../../../kernels/copy-rows.ts';
import { t5 } from '../../../models/text/t5/t5.ts';
import { distanceBuckets, readT5Config, type T5Config } from '../../../models/text/t5/t5-config.ts';
import type { WeightTable } from '../../../models/weights.ts';
import { computeFinite, type ComputeOptions } from '../recording/compute.ts';
import type { ComponentAccess } from '../components/components.ts';
import { Scope } from '../recording/scope.ts';
import type { TextStates } from './transformer-model.ts';

/** Components that hold the encoder and its tokenizer. */
export interface T5Components {
  encoder: string;
  tokenizer: string;
}

export interface T5Reading {
  /** Limit on the tokens of a text, its end included; padding fills shorter texts up to it. */
  count: number;
  /**
   * `all`: padding takes part like any other token. `seen`: the same, and none of it is kept. `one`: no token sees padding, and only the first token of padding is kept, which sees
   * the text. `none`: no token sees padding, and none of it is kept.
   */
  padding: 'all' | 'seen' | 'one' | 'none';
  options: ComputeOptions;
}

/** Returns the columns of the states. Throws bad_checkpoint for weights that do not match the configuration, and for a damaged tokenizer. */
export async function checkT5(
  components: ComponentAccess,
  { encoder, tokenizer }: T5Components,
): Promise<number> {
  const config = configOf(components, encoder);
  components.check(encoder, (table) => t5(config, table));
  await components.tokenizer(tokenizer);
  return config.hidden;
}

function configOf(components: ComponentAccess, encoder: string): T5Config {
  return readT5Config(components.get(encoder).config, `${encoder}/config.json`);
}

/** Returns the states of each text; the caller frees them. */
export async function readT5(
  components: ComponentAccess,
  { encoder, tokenizer: tokenizerName }: T5Components,
  texts: readonly string[],
  { count, padding, options }: T5Reading,
): Promise<TextStates[]> {
  const { device } = components;
  const config = configOf(components, encoder);
  const tokenizer = await components.tokenizer(tokenizerName);
  using weights = await components.load(encoder, 'text', (table: WeightTable) => t5(config, table), options);
  using results = new Scope(device);
  const states: TextStates[] = [];
  for (const text of texts) {
    using inputs = new Scope(device);
    const held = (label: string, values: Uint32Array): Tensor =>
      inputs.hold(device.tensor('step', label, [1, values.length], values));
    const words = tokensOf(tokenizer, text, count);
    const isFull = padding === 'all' || padding === 'seen';
    const tokens = isFull ? count : Math.min(words.length + (padding === 'one' ? 1 : 0), count);
    const padded = new Uint32Array(tokens).fill(paddingId(tokenizer));
    padded.set(words);
    const ids = held('token ids', padded);
    const buckets = held('classes of distances', distanceBuckets(config, tokens));
    const keys = padding !== 'one' ? null : held('number of words', Uint32Array.of(words.length));
    const [found] = await computeFinite(device, options, 'the T5 encoder', (tape) => {
      const read = weights.page(tape, { ids, buckets, ...(keys && { keys }) });
      return [padding === 'seen' ? takeRows(read, 0, [1, words.length]) : read];
    });
    states.push({ states: results.hold(found!) }); // [1, tokens, columns]
  }
  results.release();
  return states;
}

/** Token ids of a text with its end token, at most `count`. */
function tokensOf(tokenizer: Tokenizer, text: string, count: number): number[] {
  const words = tokenizer.encode(text, { addSpecialTokens: false }).slice(0, count - 1);
  return [...words, idOf(tokenizer, 'eos_token', 1)];
}

const paddingId = (tokenizer: Tokenizer): number => idOf(tokenizer, 'pad_token', 0);

function idOf(tokenizer: Tokenizer, name: 'eos_token' | 'pad_token', otherwise: number): number {
  const token = tokenizer.specials[name];
  return (typeof token === 'string' ? tokenizer.tokenToId(token) : null) ?? otherwise;
}
