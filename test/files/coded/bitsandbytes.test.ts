// Tensors of bitsandbytes that do not fit one another are refused with the tensor and what is wrong.

import { describe, expect, it } from 'vitest';
import { readCoded } from '../../../src/files/coded/fold.ts';
import { changed, openCodedGolden, without } from './coded-golden.ts';

const caseOf = await openCodedGolden('bitsandbytes-weights');
const SETTINGS = { method: 'bitsandbytes', settings: { quant_method: 'bitsandbytes' } };

const stated = (text: string): Uint8Array => new TextEncoder().encode(text);
const STATE = 'w.weight.quant_state.bitsandbytes__nf4';
const { tensors: nf4 } = caseOf('nf4');
const { tensors: nested } = caseOf('nf4nested');
const { tensors: int8 } = caseOf('int8');

describe('damaged settings of bitsandbytes are refused:', () => {
  it.each([
    ['no scales', without(nf4, 'w.weight.absmax'), /w\.weight\.absmax is missing/],
    ['no table', without(nf4, 'w.weight.quant_map'), /w\.weight\.quant_map is missing/],
    ['no state', without(nf4, STATE), /w\.weight is U8 without its quant_state/],
    ['no codes', without(nf4, 'w.weight'), /w\.weight is missing, and its quant_state is there/],
    ['no scales of scales', without(nested, 'w.weight.nested_absmax'), /nested_absmax is missing/],
    [
      'few scales',
      changed(nf4, 'w.weight.absmax', { shape: [3] }),
      /absmax has the shape \[3\], and 32 × 256/,
    ],
    ['other scales', changed(nf4, 'w.weight.absmax', { dtype: 'U8' }), /absmax is U8 of \[128\], and F32/],
    ['few codes', changed(nf4, 'w.weight', { bytes: 64 }), /w\.weight holds 128 codes, and .* \[32, 256\]/],
    [
      'no JSON',
      changed(nf4, STATE, { data: stated('{"quant_type": ') }),
      /bitsandbytes__nf4 is not a JSON object/,
    ],
    ['no text', changed(nf4, STATE, { data: Uint8Array.of(255, 254) }), /is not a JSON object/],
    ['other type', changed(nf4, STATE, { data: stated('{"quant_type":"af4"}') }), /says quant_type "af4"/],
    [
      'no block size',
      changed(nf4, STATE, { data: stated('{"quant_type":"nf4","blocksize":0,"shape":[32,256]}') }),
      /says blocksize 0/,
    ],
    [
      'no shape',
      changed(nf4, STATE, { data: stated('{"quant_type":"nf4","blocksize":64,"shape":[32,-1]}') }),
      /says shape \[32,-1\]/,
    ],
    [
      'no offset',
      changed(nf4, STATE, {
        data: stated('{"quant_type":"nf4","blocksize":64,"shape":[32,256],"nested_blocksize":256}'),
      }),
      /says nested_offset undefined/,
    ],
    ['large state', changed(nf4, STATE, { data: new Uint8Array(2 ** 21) }), /has 2097152 bytes, above/],
    ['no ranges', without(int8, 'w.SCB'), /w\.SCB is missing/],
    ['few ranges', changed(int8, 'w.SCB', { shape: [31] }), /SCB has the shape \[31\], and 32 outputs/],
    [
      'an order of GPUs',
      changed(int8, 'w.weight_format', { data: Uint8Array.of(2) }),
      /weight_format says that the codes are in the order of a kind of GPU \(2\)/,
    ],
  ])('%s', async (_, tensors, message) => {
    await expect(readCoded(tensors, SETTINGS)).rejects.toThrow(message);
  });

  it('another type of blocks', async () => {
    const other = 'w.weight.quant_state.bitsandbytes__af4';
    const entry = { ...nf4.get(STATE)!, name: other };
    const tensors = new Map([...without(nf4, STATE), [other, entry]]);
    await expect(readCoded(tensors, SETTINGS)).rejects.toThrow(
      /bitsandbytes__af4 is of another type than nf4 and fp4/,
    );
  });

  it('rows that are not whole blocks of 32', async () => {
    const state = stated('{"quant_type":"nf4","blocksize":64,"shape":[256,16]}');
    const small = changed(changed(nf4, STATE, { data: state }), 'w.weight', { bytes: 2048 });
    await expect(readCoded(small, SETTINGS)).rejects.toThrow(/w\.weight has 16 inputs in blocks of 64/);
  });
});
