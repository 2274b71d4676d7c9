// Alphas in LoRAs' files: those of factors that are stored whole have no effect, whatever value a program writes there; those of
// low-rank factors are judged.

import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { openImageLora, type ImageLora } from '../../../src/files/lora/image-lora.ts';
import { safetensorsHead, type Dtype } from '../../../src/files/tensors/safetensors.ts';
import { readTensors } from '../../engine/image/tiny-tensors.ts';
import { memorySource } from '../memory-source.ts';

const FOLDER = fileURLToPath(new URL('../../golden/image/lora-layers', import.meta.url));

/** Opens a LoRA of LyCORIS with other bytes in all its alphas. */
async function withAlphas(golden: string, dtype: Dtype, shape: number[], alpha: Uint8Array) {
  const stored = await readTensors(`${FOLDER}/${golden}.safetensors`);
  const tensors = [...stored.values()].map((each) =>
    each.name.endsWith('.alpha') ? { ...each, dtype, shape, bytes: alpha } : each,
  );
  const bytes = Buffer.concat([safetensorsHead(tensors), ...tensors.map((each) => each.bytes)]);
  const name = 'style.safetensors';
  return openImageLora({
    path: `/${name}`,
    names: async () => [name],
    open: async () => memorySource(name, new Uint8Array(bytes)),
  });
}

const scalesOf = ({ modules }: ImageLora): (number | undefined)[] =>
  modules.map(({ weight }) => weight?.scale);

const littleEndian = (...values: number[]): Uint8Array => new Uint8Array(new Uint16Array(values).buffer);
const F32 = new Uint8Array(new Float32Array([9_999_999_999]).buffer);
/** ai-toolkit's 9999999999 in half the bits: 9999220736 in bf16, infinity in f16. */
const BF16 = littleEndian(0x5015);
const F16 = littleEndian(0x7c00);

describe('the alpha of LoKr whose factors are both whole has no effect', () => {
  it.each<[Dtype, Uint8Array]>([
    ['F32', F32],
    ['BF16', BF16],
    ['F16', F16],
  ])('the alpha of %s may be 9999999999, which has no effect', async (dtype, alpha) => {
    const file = await withAlphas('lokr-whole', dtype, [], alpha);
    expect(scalesOf(file)).toEqual([1, 1, 1]);
    await file.close();
  });
});

it.each<[string, string, Dtype, number[], Uint8Array, string]>([
  ['LoKr with one factor of two parts', 'lokr', 'BF16', [], BF16, 'is 9999220736'],
  ['LoKr with one factor of two parts', 'lokr', 'F16', [], F16, 'is Infinity'],
  ['LoRA', 'lora', 'F16', [], littleEndian(0x7e00), 'is NaN'],
  ['whole LoKr', 'lokr-whole', 'F16', [2], littleEndian(1, 1), 'is of the shape [2]'],
])('a LoRA %s is refused by a wrong alpha (%s, %s)', async (_, golden, dtype, shape, alpha, problem) => {
  await expect(withAlphas(golden, dtype, shape, alpha)).rejects.toMatchObject({
    code: 'bad_checkpoint',
    message: expect.stringMatching(
      new RegExp(
        `^/style\\.safetensors: tensor \\S+\\.alpha ${problem.replace(/[[\]]/g, '\\$&')}, and a number up to 1000000 is needed: `,
      ),
    ) as string,
  });
});
