// GGUF files of Qwen3-Next and Qwen3.5, whose rows of linear attention are in another order than those of the checkpoints that llama.cpp's
// converter made them of: logits are those of the checkpoints.

import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../../../src/gpu/device.ts';
import { QWEN3_NEXT_GGUF } from '../../../../src/models/text/qwen3-next/qwen3-next-gguf.ts';
import { openModelTestDevice } from '../../../gpu/test-device.ts';
import { openForward } from '../../forward.ts';

const ROOT = fileURLToPath(new URL('../../../golden/gguf', import.meta.url));
const IDS = Array.from({ length: 21 }, (_, i) => (7 * i + 3) % 40);

let device: Device;
beforeAll(async () => void (device = await openModelTestDevice()));
afterAll(() => device.destroy());

it.each(['qwen3-next', 'qwen3-5', 'qwen3-5-moe'])('the GGUF file of %s', async (name) => {
  const [stored, converted] = await Promise.all(
    ['', '/model.gguf'].map(async (file) => {
      const forward = await openForward(device, `${ROOT}/${name}${file}`);
      const logits = await forward.step(IDS, () => IDS.length);
      forward.close();
      return logits;
    }),
  );
  stored!.forEach((row, i) => {
    const largest = Math.max(...row.map(Math.abs));
    const error = Math.max(...row.map((value, token) => Math.abs(value - converted![i]![token]!)));
    expect(error / largest).toBeLessThan(1e-4);
  });
});

describe('tensors of a GGUF file of Qwen3-Next', () => {
  const [, dense] = QWEN3_NEXT_GGUF;
  const partsOf = (name: string) => dense!.parts({ name, shape: [8, 16] }, { num_hidden_layers: 3 });

  it('behind the last layer are not read, because they predict several tokens ahead', () => {
    expect(partsOf('blk.2.ssm_out.weight')?.map(({ name }) => name)).toEqual([
      'model.layers.2.linear_attn.out_proj.weight',
    ]);
    for (const name of ['blk.3.attn_q.weight', 'blk.3.nextn.eh_proj.weight'])
      expect(partsOf(name)).toEqual([]);
  });

  it('with queries, keys, values and gates of all heads in turns are unknown', () => {
    expect(partsOf('blk.0.ssm_in.weight')).toBeNull();
  });
});
