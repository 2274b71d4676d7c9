// Files that torch wrote (scripts/reference/torch_files.py), and files that are damaged.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { slicedSource, type ByteSource } from '../../../src/files/source.ts';
import type { TensorEntry } from '../../../src/files/tensors/safetensors.ts';
import { readTorchFile } from '../../../src/files/tensors/torch-file.ts';

const golden = (name: string): string =>
  fileURLToPath(new URL(`../../golden/torch/${name}`, import.meta.url));
const VALUES = JSON.parse(readFileSync(golden('values.json'), 'utf8')) as Record<
  string,
  { shape: number[]; values: number[] }
>;

const DECODERS: Record<string, (bytes: Uint8Array<ArrayBuffer>) => number[]> = {
  F32: ({ buffer }) => [...new Float32Array(buffer)],
  F16: ({ buffer }) => [...new Uint16Array(buffer)].map(halfOf),
  BF16: ({ buffer }) => [
    ...new Float32Array(Uint32Array.from(new Uint16Array(buffer), (bits) => bits << 16).buffer),
  ],
  I64: ({ buffer }) => [...new BigInt64Array(buffer)].map(Number),
  BOOL: (bytes) => [...bytes],
};

function halfOf(bits: number): number {
  const [exponent, fraction] = [(bits >> 10) & 31, (bits & 1023) / 1024];
  const size = exponent === 0 ? fraction * 2 ** -14 : (1 + fraction) * 2 ** (exponent - 15);
  return bits >> 15 ? -size : size;
}

async function valuesOf({
  source,
  offset,
  bytes,
  dtype,
  shape,
  isTransposed,
}: TensorEntry): Promise<number[]> {
  const stored = DECODERS[dtype]!(await source.read(offset, bytes));
  if (!isTransposed) return stored;
  const [rows = 0, columns = 0] = shape;
  return stored.map((_, i) => stored[(i % columns) * rows + Math.floor(i / columns)]!);
}

function sourceOf(bytes: Uint8Array<ArrayBuffer>): ByteSource {
  return slicedSource({ name: 'x.bin', size: bytes.length }, (offset, length) =>
    Promise.resolve(bytes.slice(offset, offset + length)),
  );
}

const open = (name: string): Promise<Map<string, TensorEntry>> =>
  readTorchFile(sourceOf(new Uint8Array(readFileSync(golden(name)))));

describe('a file of torch', () => {
  it.each(['zip.bin', 'legacy.bin', 'training.ckpt'])('%s has the values of its state', async (name) => {
    const tensors = await open(name);
    expect([...tensors.keys()]).toEqual(Object.keys(VALUES));
    for (const [key, { shape, values }] of Object.entries(VALUES)) {
      expect(tensors.get(key)!.shape, key).toEqual(shape);
      expect(await valuesOf(tensors.get(key)!), key).toEqual(values);
    }
  });

  it('has types whose storages have none', async () => {
    expect((await open('float8.bin')).get('float8')).toMatchObject({
      dtype: 'F8_E4M3',
      shape: [4],
      bytes: 4,
    });
  });

  it('has names within dictionaries', async () => {
    expect([...(await open('network.pth')).keys()]).toEqual(['params_ema.conv.weight']);
    expect([...(await open('word.pt')).keys()]).toEqual(['string_to_param.*']);
  });

  it('with numbers apart from each other is refused', async () => {
    await expect(open('apart.bin')).rejects.toMatchObject({
      code: 'bad_checkpoint',
      message: expect.stringMatching(/tensor "apart" \[4, 3\] has its numbers apart \(strides 6, 2\)/),
    });
  });
});

describe('a damaged file', () => {
  it.each(['zip.bin', 'legacy.bin'])('%s is refused wherever it ends, and never misread', async (name) => {
    const whole = new Uint8Array(readFileSync(golden(name)));
    for (let length = 0; length < whole.length; length += 7)
      await expect(readTorchFile(sourceOf(whole.slice(0, length)))).rejects.toMatchObject({
        code: 'bad_checkpoint',
      });
  });

  it('with changed bytes gives tensors within the file, or an error with a remedy', async () => {
    for (const name of ['zip.bin', 'legacy.bin']) {
      const whole = new Uint8Array(readFileSync(golden(name)));
      for (let at = 0; at < whole.length; at += 3) {
        const changed = whole.slice();
        changed[at]! ^= 0x55;
        const read = await readTorchFile(sourceOf(changed)).catch((error: unknown) => error);
        if (read instanceof Map)
          for (const { offset, bytes } of (read as Map<string, TensorEntry>).values())
            expect(offset + bytes).toBeLessThanOrEqual(whole.length);
        else expect(read).toMatchObject({ code: 'bad_checkpoint' });
      }
    }
  });

  it('whose pickle calls functions runs none: their results are no tensors', async () => {
    // The state is the result of os.system('exit 1').
    const pickle = '\x80\x02cos\nsystem\nU\x06exit 1\x85R.';
    const magic = '\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}.';
    const bytes = Uint8Array.from(`${magic}${pickle}\x80\x02].`, (char) => char.charCodeAt(0));
    expect([...(await readTorchFile(sourceOf(bytes))).keys()]).toEqual([]);
  });
});
